"""Operators that read past their context; each line that does is marked with what it reads."""

import os
import random
import secrets
import socket
import threading
import time
import uuid
from abc import ABC, abstractmethod
from datetime import UTC, date, datetime
from datetime import datetime as also_datetime
from hashlib import blake2b
from random import Random
from time import time as now

from shop import rates

from replay.jobs.pass_through import PassThrough
from replay.model import Record
from replay.runtime.operators import Context

UNSEEDED = Random()


class Planted(PassThrough, ABC):
    """Adds to each record what `read` gives."""

    def on_record(self, record: Record, context: Context) -> None:
        # As long in every execution, so that buffers keep their sizes when what they hold is another.
        extra = blake2b(repr(self.read(record, context)).encode(), digest_size=6).hexdigest()
        value = {**record.value, "extra": extra}
        super().on_record(Record(record.key, record.timestamp, value, record.lineage), context)

    @abstractmethod
    def read(self, record: Record, context: Context) -> object: ...


class Clock(Planted):
    def read(self, record: Record, context: Context) -> object:
        return time.time()  # reads: clock


class ClockByName(Planted):
    def read(self, record: Record, context: Context) -> object:
        return now()  # reads: clock


class ClockInArguments(Planted):
    def read(self, record: Record, context: Context, clock=time.monotonic) -> object:
        return clock()  # reads: clock


class Today(Planted):
    def read(self, record: Record, context: Context) -> object:
        return str(date.today())  # reads: clock # noqa: DTZ011


class Now(Planted):
    def read(self, record: Record, context: Context) -> object:
        return datetime.now().isoformat()  # reads: clock # noqa: DTZ005


class UtcNow(Planted):
    def read(self, record: Record, context: Context) -> object:
        return also_datetime.utcnow().isoformat()  # reads: clock # noqa: DTZ003


class Local(Planted):
    def read(self, record: Record, context: Context) -> object:
        return list(time.localtime())  # reads: clock


class ModuleRandom(Planted):
    def read(self, record: Record, context: Context) -> object:
        return random.random()  # reads: random


class Choice(Planted):
    def read(self, record: Record, context: Context) -> object:
        return random.choice([1, 2, 3])  # reads: random


class UnseededInModule(Planted):
    def read(self, record: Record, context: Context) -> object:
        return UNSEEDED.randint(1, 1_000_000)  # reads: random


class UnseededOfItsOwn(Planted):
    def __init__(self) -> None:
        super().__init__()
        self.dice = Random()

    def read(self, record: Record, context: Context) -> object:
        return self.dice.random()  # reads: random


class Uuid4(Planted):
    def read(self, record: Record, context: Context) -> object:
        return str(uuid.uuid4())  # reads: random


class Uuid1(Planted):
    def read(self, record: Record, context: Context) -> object:
        return str(uuid.uuid1())  # reads: random


class Urandom(Planted):
    def read(self, record: Record, context: Context) -> object:
        return os.urandom(4).hex()  # reads: random


class Secrets(Planted):
    def read(self, record: Record, context: Context) -> object:
        return secrets.token_hex(4)  # reads: random


class Environment(Planted):
    def read(self, record: Record, context: Context) -> object:
        return os.environ.get("SHOP_CURRENCY", "EUR")  # reads: environment


class Getenv(Planted):
    def read(self, record: Record, context: Context) -> object:
        return os.getenv("SHOP_CURRENCY")  # reads: environment


class EnvironmentAtOnce(Planted):
    def __init__(self) -> None:
        super().__init__()
        self.currency = os.environ["HOME"]  # reads: environment

    def read(self, record: Record, context: Context) -> object:
        return self.currency


class File(Planted):
    def read(self, record: Record, context: Context) -> object:
        with open(rates.__file__) as file:  # reads: files
            return len(file.read())


class LowFile(Planted):
    def read(self, record: Record, context: Context) -> object:
        descriptor = os.open(rates.__file__, os.O_RDONLY)  # reads: files
        try:
            return os.read(descriptor, 10).hex()
        finally:
            os.close(descriptor)


class Listing(Planted):
    def read(self, record: Record, context: Context) -> object:
        return os.listdir(os.path.dirname(rates.__file__))  # reads: files


class Network(Planted):
    def read(self, record: Record, context: Context) -> object:
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", 9))  # reads: network


class Identity(Planted):
    def read(self, record: Record, context: Context) -> object:
        return id(record)  # reads: identity


class HashOfText(Planted):
    def read(self, record: Record, context: Context) -> object:
        return hash(record.key)  # reads: identity


class Process(Planted):
    def read(self, record: Record, context: Context) -> object:
        return os.getpid()  # reads: machine


class Thread(Planted):
    def read(self, record: Record, context: Context) -> object:
        done: list[int] = []
        one = threading.Thread(target=lambda: done.append(1))
        one.start()  # reads: threads
        return len(done)


class SetOrder(Planted):
    def read(self, record: Record, context: Context) -> object:
        found = ""
        for word in {record.key, "alpha", "beta", "gamma", "delta"}:  # moves: hash seed
            found += word
        return found


class ListOfASet(Planted):
    def read(self, record: Record, context: Context) -> object:
        return list({record.key, "alpha", "beta", "gamma", "delta"})  # moves: hash seed


class SetInState(Planted):
    def __init__(self) -> None:
        super().__init__()
        self.keys: set[str] = set()
        self.last = ""

    def read(self, record: Record, context: Context) -> object:
        self.keys.add(record.key)
        if self.records == 60:
            self.last = next(iter(self.keys))  # moves: hash seed
        return self.last if self.records > 80 else ""


class InAnotherModule(Planted):
    def read(self, record: Record, context: Context) -> object:
        return rates.rate()


class Innocent(Planted):
    """All that looks alike, and follows from the record and the log alone."""

    def __init__(self) -> None:
        super().__init__()
        self.dice = Random(7)

    def read(self, record: Record, context: Context) -> object:
        dice = Random(record.key)
        at = context.clock.now_ms()
        seen = {record.key, "a", "b"}
        return [
            dice.random(), dice.choice("abc"), sorted(seen), time.gmtime(at // 1000).tm_year, len(seen),
            datetime.fromtimestamp(at / 1000, UTC).year > 0, time.strftime("%Y", time.gmtime(0)), "a" in seen,
            str(uuid.uuid5(uuid.NAMESPACE_URL, record.key)), date(2026, 1, 2).isoformat(),
        ]  # fmt: skip
