"""Operators that read past their context by ways that are easily missed; marked as in `planted`."""

import ctypes
import functools
import glob
import importlib.resources
import io
import itertools
import locale
import mmap
import os
import pkgutil
import platform
import random
import sqlite3
import subprocess
import tempfile
import threading
import time
import time as clocks
import uuid
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import SystemRandom
from secrets import choice, randbits
from time import time as t

import numpy as np
from shop import rates
from shop.planted import Planted

from replay.model import Record
from replay.runtime.operators import Context, Timer

MADE_ON_IMPORT = np.random.default_rng()  # reads: random
STARTED = t()  # reads: clock
FILE = rates.__file__


# --- other names, other ways to call ---


class Counter(Planted):
    def read(self, record: Record, context: Context) -> object:
        return time.perf_counter()  # reads: clock


class ProcessTime(Planted):
    def read(self, record: Record, context: Context) -> object:
        return clocks.process_time_ns()  # reads: clock


class InALambda(Planted):
    ask = staticmethod(lambda: t())  # reads: clock

    def read(self, record: Record, context: Context) -> object:
        return self.ask()


class InAClosure(Planted):
    def __init__(self) -> None:
        super().__init__()
        asks = t

        def ask() -> float:
            return asks()  # reads: clock

        self.ask = ask

    def read(self, record: Record, context: Context) -> object:
        return self.ask()


class InAGenerator(Planted):
    def read(self, record: Record, context: Context) -> object:
        def times():
            while True:
                yield t()  # reads: clock

        return next(times())


class InAComprehension(Planted):
    def read(self, record: Record, context: Context) -> object:
        return [
            t()  # reads: clock
            for _ in range(3)
        ]


class ByArguments(Planted):
    def read(self, record: Record, context: Context) -> object:
        return time.strftime(*["%H:%M:%S %f"]) + clocks.ctime(*())  # moves: clock


class ByAnotherFunction(Planted):
    def read(self, record: Record, context: Context) -> object:
        return list(map(os.getenv, ["SHOP_CURRENCY"]))  # reads: environment


class ByAttribute(Planted):
    def read(self, record: Record, context: Context) -> object:
        return getattr(time, "ti" + "me")()  # reads: clock


class ByADescriptor(Planted):
    @property
    def now(self) -> float:
        return t()  # reads: clock

    def read(self, record: Record, context: Context) -> object:
        return self.now


class Partial(Planted):
    ask = functools.partial(time.time)

    def read(self, record: Record, context: Context) -> object:
        return self.ask()  # moves: clock


class ByC(Planted):
    def __init__(self) -> None:
        super().__init__()
        self.times: defaultdict[str, float] = defaultdict(time.time)

    def read(self, record: Record, context: Context) -> object:
        return self.times[record.key]  # moves: clock


@dataclass
class Item:
    at: float = field(default_factory=time.time)


class DefaultFactory(Planted):
    def read(self, record: Record, context: Context) -> object:
        return Item().at  # reads: clock


class Evaluated(Planted):
    def read(self, record: Record, context: Context) -> object:
        return eval("t()")  # reads: clock # noqa: S307


class ByALibrary(Planted):
    def read(self, record: Record, context: Context) -> object:
        return str(datetime.now(UTC).astimezone())  # reads: clock


class OnTimer(Planted):
    at = 0.0

    def read(self, record: Record, context: Context) -> object:
        context.set_timer(context.clock.now_ms() + 3, name="x")
        return self.at

    def on_timer(self, timer: Timer, context: Context) -> None:
        if timer.name == "x":
            self.at = t()  # reads: clock
        else:
            super().on_timer(timer, context)


class OnOpen(Planted):
    def open(self, context: Context) -> None:
        super().open(context)
        self.at = t()  # reads: clock

    def read(self, record: Record, context: Context) -> object:
        return self.at


class OnSnapshot(Planted):
    def snapshot(self) -> dict:
        return {**super().snapshot(), "at": int(t() * 0)}  # reads: clock

    def read(self, record: Record, context: Context) -> object:
        return 0


class OnRestore(Planted):
    at = 0.0

    def restore(self, state: dict) -> None:
        super().restore(state)
        self.at = t()  # reads: clock

    def read(self, record: Record, context: Context) -> object:
        return self.at


# --- chance ---


class SystemDice(Planted):
    def read(self, record: Record, context: Context) -> object:
        return SystemRandom().randrange(10**6)  # reads: random


class SecretChoice(Planted):
    def read(self, record: Record, context: Context) -> object:
        return choice([1, 2, 3, 4, 5, 6, 7])  # reads: random


class SecretBits(Planted):
    def read(self, record: Record, context: Context) -> object:
        return randbits(32)  # reads: random


class Shuffled(Planted):
    def read(self, record: Record, context: Context) -> object:
        some = list(range(9))
        random.shuffle(some)  # reads: random
        return some


class SeededByTime(Planted):
    def read(self, record: Record, context: Context) -> object:
        return random.Random(t()).random()  # reads: clock


class Node(Planted):
    def read(self, record: Record, context: Context) -> object:
        return uuid.getnode()  # reads: random


class NumpyShared(Planted):
    def read(self, record: Record, context: Context) -> object:
        return float(np.random.random())  # reads: random


class NumpySharedInArguments(Planted):
    def read(self, record: Record, context: Context) -> object:
        return self.same(
            float(np.random.normal()),  # reads: random
        )

    def same(self, value: float) -> float:
        return value


class NumpyUnseeded(Planted):
    def __init__(self) -> None:
        super().__init__()
        self.dice = np.random.default_rng()  # reads: random

    def read(self, record: Record, context: Context) -> object:
        return float(self.dice.random())


class NumpyOfTheModule(Planted):
    def read(self, record: Record, context: Context) -> object:
        return float(MADE_ON_IMPORT.random())  # moves: random


# --- environment, machine ---


class AllVariables(Planted):
    def read(self, record: Record, context: Context) -> object:
        return sorted(os.environ.items())  # reads: environment


class HasVariable(Planted):
    def read(self, record: Record, context: Context) -> object:
        return "SHOP_CURRENCY" in os.environ  # reads: environment


class Locale(Planted):
    def read(self, record: Record, context: Context) -> object:
        return str(locale.getlocale())  # reads: environment


class Platform(Planted):
    def read(self, record: Record, context: Context) -> object:
        return platform.node()  # reads: machine


class ThreadNumber(Planted):
    def read(self, record: Record, context: Context) -> object:
        return threading.get_ident()  # reads: threads


class OtherProgram(Planted):
    def read(self, record: Record, context: Context) -> object:
        if self.records % 60:
            return 0
        return subprocess.run(["true"], check=False).returncode  # reads: machine


class ForeignCode(Planted):
    def read(self, record: Record, context: Context) -> object:
        return ctypes.CDLL(None).getpid()  # reads: machine


class InAThread(Planted):
    def read(self, record: Record, context: Context) -> object:
        found: list[float] = []

        def ask() -> None:
            found.append(t())  # reads: clock

        one = threading.Thread(target=ask)
        one.start()  # reads: threads
        one.join()
        return found


class InAPool(Planted):
    def read(self, record: Record, context: Context) -> object:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(self.ask).result()  # reads: threads

    def ask(self) -> float:
        return t()  # reads: clock


class IdentityInASet(Planted):
    def read(self, record: Record, context: Context) -> object:
        things = [Thing(n) for n in range(40)]
        return [one.number for one in set(things)]  # moves: again


class Thing:
    def __init__(self, number: int) -> None:
        self.number = number


# --- files ---


class PathRead(Planted):
    def read(self, record: Record, context: Context) -> object:
        return len(Path(FILE).read_text())  # reads: files


class PathExists(Planted):
    def read(self, record: Record, context: Context) -> object:
        return Path("/nowhere/at/all").exists()  # reads: files


class RawFile(Planted):
    def read(self, record: Record, context: Context) -> object:
        with io.FileIO(FILE) as file:  # reads: files
            return len(file.read())


class Mapped(Planted):
    def read(self, record: Record, context: Context) -> object:
        with open(FILE, "rb") as file:  # reads: files
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # reads: files
            return len(mapped)


class Globbed(Planted):
    def read(self, record: Record, context: Context) -> object:
        return sorted(glob.glob(os.path.dirname(FILE) + "/*.py"))  # reads: files


class Walked(Planted):
    def read(self, record: Record, context: Context) -> object:
        return len(list(os.walk(os.path.dirname(FILE))))  # reads: files


class Resource(Planted):
    def read(self, record: Record, context: Context) -> object:
        return len(importlib.resources.files("shop").joinpath("rates.py").read_text())  # reads: files


class PackageData(Planted):
    def read(self, record: Record, context: Context) -> object:
        return len(pkgutil.get_data("shop", "rates.py"))  # reads: files


class Temporary(Planted):
    def read(self, record: Record, context: Context) -> object:
        with tempfile.TemporaryDirectory() as folder:  # reads: files
            return folder


class Database(Planted):
    def read(self, record: Record, context: Context) -> object:
        with tempfile.NamedTemporaryFile() as file:  # reads: files
            one = sqlite3.connect(file.name)  # reads: files
            one.close()
        return 0


class DatabaseInMemory(Planted):
    def read(self, record: Record, context: Context) -> object:
        return sqlite3.connect(":memory:").execute("SELECT random()").fetchone()[0]  # moves: again


class Seeded(Planted):
    """Nothing: a seed of its own, and what only looks like reading."""

    def __init__(self) -> None:
        super().__init__()
        self.dice = np.random.default_rng(7)
        self.older = np.random.RandomState(7)
        self.keys: dict[Key, int] = {}

    def read(self, record: Record, context: Context) -> object:
        key = Key(str(record.key))
        self.keys[key] = self.keys.get(key, 0) + 1
        made = [float(np.random.default_rng(len(record.key)).random()), Frozen(record.key) in {Frozen("a")}]
        with sqlite3.connect(":memory:") as one:
            made.append(one.execute("SELECT 1").fetchone()[0])
        return [*made, self.keys[key], datetime.strptime("2026-01-02", "%Y-%m-%d").year]  # noqa: DTZ007


class Key:
    def __init__(self, name: str) -> None:
        self.name = name

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.name == other.name


@dataclass(frozen=True)
class Frozen:
    name: object


# --- kept from one execution to the next, and in no snapshot ---

KEPT_COUNT = itertools.count()
KEPT_NUMPY = np.random.default_rng(5)


class CountsInModule(Planted):
    def read(self, record: Record, context: Context) -> object:
        return next(KEPT_COUNT)  # moves: kept


class CountsInClass(Planted):
    count = 0

    def read(self, record: Record, context: Context) -> object:
        CountsInClass.count += 1
        return CountsInClass.count  # moves: kept


class NumpySeededInModule(Planted):
    def read(self, record: Record, context: Context) -> object:
        return float(KEPT_NUMPY.random())  # moves: kept


class ForgetsWhenRestored(Planted):
    """Nothing that a hunt finds: an attempt that begins anew forgets it as the one before it did."""

    def __init__(self) -> None:
        super().__init__()
        self.mine = 0

    def read(self, record: Record, context: Context) -> object:
        self.mine += 1
        return self.mine
