"""An operator as it should be, and some that use more than they may."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from pathlib import Path

from replay.jobs.pass_through import PassThrough
from replay.model import Record
from replay.runtime.operators import Context

AT_RECORD = 150


class Prices(PassThrough):
    """What the sample job does, from another package."""


class Misbehaving(PassThrough, ABC):
    """Does as it should until it has seen enough records."""

    def on_record(self, record: Record, context: Context) -> None:
        if self.records == AT_RECORD:
            self.misbehave()
        super().on_record(record, context)

    @abstractmethod
    def misbehave(self) -> None: ...


class Loops(Misbehaving):
    def misbehave(self) -> None:
        # On one line, so that a test knows at which the end comes.
        while True: pass  # noqa: E701  # fmt: skip


class LetsNothingEndIt(Misbehaving):
    def misbehave(self) -> None:
        while True:
            try:
                while True:
                    pass
            except BaseException as end:
                self.swallowed = end


class Sleeps(Misbehaving):
    def misbehave(self) -> None:
        time.sleep(1_000_000)


class LoopsInC(Misbehaving):
    def misbehave(self) -> None:
        re.match(r"(a+)+$", "a" * 60 + "b")


class Hoards(Misbehaving):
    def misbehave(self) -> None:
        self.hoard: list[bytearray] = []
        while True:
            self.hoard.append(bytearray(1 << 20))


class FillsTheDisk(Misbehaving):
    def misbehave(self) -> None:
        with tempfile.TemporaryFile() as file:
            while True:
                file.write(b"x" * (1 << 20))


class OpensAll(Misbehaving):
    def misbehave(self) -> None:
        self.files = []
        while True:
            self.files.append(Path(__file__).open())  # noqa: SIM115


class Exits(Misbehaving):
    def misbehave(self) -> None:
        sys.exit(0)


class KillsItsParent(Misbehaving):
    def misbehave(self) -> None:
        os.kill(os.getppid(), signal.SIGKILL)


class KillsEverybody(Misbehaving):
    def misbehave(self) -> None:
        os.kill(-1, signal.SIGKILL)


class Forks(Misbehaving):
    def misbehave(self) -> None:
        while True:
            os.fork()


class StartsPrograms(Misbehaving):
    """And leaves one of them behind; the number of it stands in a file."""

    def misbehave(self) -> None:
        one = subprocess.Popen(["sleep", "1000"])
        one.terminate()
        one.wait()
        other = subprocess.Popen(["sleep", "1000"])
        Path(os.environ["SHOP_LEFT_BEHIND"]).write_text(str(other.pid))


class LeavesAtOnce(Misbehaving):
    def misbehave(self) -> None:
        os._exit(0)


class ClosesEverything(Misbehaving):
    def misbehave(self) -> None:
        os.closerange(0, 100)


class RaisesPastAll(Misbehaving):
    def misbehave(self) -> None:
        raise GeneratorExit("no more")


class Recurses(Misbehaving):
    def misbehave(self) -> None:
        self.misbehave()


class Floods(Misbehaving):
    """A hundred million characters."""

    def misbehave(self) -> None:
        for _ in range(100_000):
            print("x" * 1000)


class IgnoresSignals(Misbehaving):
    def misbehave(self) -> None:
        for one in (signal.SIGALRM, signal.SIGXCPU, signal.SIGTERM):
            signal.signal(one, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0)
        while True:
            pass


class LeavesThreads(Misbehaving):
    def misbehave(self) -> None:
        for _ in range(5):
            threading.Thread(target=threading.Event().wait).start()


class NeedsArguments(PassThrough):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how


class NoOperator:
    """Registered, and still not to be had."""


def no_class() -> PassThrough:
    return PassThrough()
