"""A random job whose answers decide what it gives away, for retries: its sink and its commits outlive a SIGKILL.

What it takes and how it is built come from the seed; what it is answered is the world's, and another each time.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import clonoscope
from clonoscope.recording import Recording
from clonoscope.tasks import Task

SMALL_SEGMENT_BYTES = 4096
_RECORDS_MOST = 40
# The world's own: nobody records it, or seeds it but each process for itself.
_world = random.Random()
_intercepted = False


class OutOfStock(Exception):
    """What the outside raises now and then; the job's own class."""


class Broken(Exception):
    """What a batch ends with that is to run again."""


def price(key: int) -> dict[str, Any]:
    """A look-up outside: another answer each time."""
    if _world.random() < 0.01:
        raise OutOfStock(key, "sold")
    return {"key": key, "cents": _world.randrange(10**9), "at": [_world.random(), None, "ü"]}


def host(key: int) -> str:
    """A look-up that fails as built-in exceptions do, with more than a message."""
    if _world.random() < 0.3:
        raise KeyError(_world.randrange(10**6))
    return f"host-{_world.randrange(10**6)}"


async def stock(key: int) -> int:
    """An awaited look-up; overlapping ones end in an order of the world's choosing."""
    for _ in range(_world.randrange(4)):
        await asyncio.sleep(0)
    return key * 1000 + _world.randrange(1000)


class Outside:
    """What is outside of the job: a sink, commits. A line is one call of the system: a kill leaves it whole."""

    def __init__(self, folder: Path, tell: int):
        self._sink = os.open(folder / "sink", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._commits = folder / "commits"
        self._tell = tell

    def write(self, id_: str, value: Any) -> None:
        """A line of the sink, told to who may kill us."""
        os.write(self._sink, json.dumps([id_, value]).encode() + b"\n")
        os.write(self._tell, b".")

    def commit(self, epoch: int) -> None:
        """All of an epoch is done."""
        os.write(self._tell, b".")
        handle = os.open(self._commits, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(handle, f"{epoch}\n".encode())
        os.close(handle)

    def next_epoch(self) -> int:
        """Where a job begins again."""
        lines = self._commits.read_text().split() if self._commits.exists() else []
        return int(lines[-1]) + 1 if lines else 0


def shape_of(seed: int) -> tuple[int, int, bool]:
    """How many tasks and epochs a job has, and whether its batches are executed by workers that are forked."""
    chooser = random.Random(seed)
    return chooser.randrange(1, 4), chooser.randrange(2, 5), chooser.random() < 0.3


def run_job(folder: Path, tell: int, seed: int, *, retry: bool) -> None:
    """From the first epoch that was not committed to the end."""
    global _intercepted
    _world.seed(os.getrandom(16))
    tasks, epochs, forks = shape_of(seed)
    Recording.segment_bytes = SMALL_SEGMENT_BYTES
    outside = Outside(folder, tell)
    _intercepted = random.Random(seed + 1).random() < 0.5
    with clonoscope.start("job", dir=folder, retry="replay" if retry else None, dump_on=()) as recording:
        interception = clonoscope.intercept("bench.retry_job") if _intercepted else None
        try:
            for epoch in range(outside.next_epoch(), epochs):
                for number in range(tasks):
                    task = recording.task("p", number, handed_on=forks and seed % 3 > 0)
                    batch = Batch(task, outside, seed, epoch)
                    if forks:
                        _in_a_worker(batch.until_done, recording)
                    else:
                        batch.until_done()
                outside.commit(epoch)
        finally:
            if interception is not None:
                clonoscope.interception.stop(interception)


def _in_a_worker(work: Callable[[], None], recording: Recording) -> None:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            _world.seed(os.getrandom(16))
            work()
            recording.close()
            status = 0
        finally:
            os._exit(status)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise RuntimeError("a worker ended with an error of its own")


class Batch:
    """The records of an epoch, for one task."""

    def __init__(self, task: Task, outside: Outside, seed: int, epoch: int):
        self.task, self.outside, self.epoch = task, outside, epoch
        self.seed = f"{seed} {task.id} {epoch}"

    def until_done(self) -> None:
        """Some end with an exception, and are executed once more, as an engine does it."""
        for _ in range(200):
            try:
                with self.task.epoch(self.epoch):
                    self._records(random.Random(self.seed))
                return
            except (Broken, OutOfStock):
                continue
        raise RuntimeError("a batch never came to its end")

    def _records(self, chooser: random.Random) -> None:
        first = self.epoch * _RECORDS_MOST
        ranges = chooser.random() < 0.2
        count = chooser.randrange(1, _RECORDS_MOST)
        if ranges:
            self.task.take_range(first, first + count, topic="in", sha256=f"{first:064x}")
        for offset in range(first, first + count):
            if not ranges:
                self._take(offset)
            value = self._answer(chooser, offset)
            self.task.output([offset, 0, value], id=str(offset))
            self.outside.write(f"{self.task.id} {offset}", value)
            if _world.random() < 0.005:
                raise Broken(offset)

    def _take(self, offset: int) -> None:
        topic, partition = "in", offset % 2 if self.task.subtask else 0
        self.task.take(offset, topic=topic, partition=partition, data=str(offset).encode() if offset % 3 else None)

    def _answer(self, chooser: random.Random, offset: int) -> list[Any]:
        found: list[Any] = []
        for service in chooser.choices(list(_SERVICES), _WEIGHTS, k=chooser.randrange(1, 6)):
            found.append(_SERVICES[service](offset))
            if clonoscope.random() < 0.2:  # what is asked depends on what was answered
                found.append(clonoscope.time_ns())
        return found


def _price(offset: int) -> Any:
    # What nobody catches ends the batch.
    return clonoscope.external(price, offset, raises=(OutOfStock,)) if offset % 5 else _cautious(price, offset)


def _cautious(function: Callable[[int], Any], offset: int) -> Any:
    try:
        return clonoscope.external(function, offset, raises=(OutOfStock,))
    except (OutOfStock, KeyError) as fault:
        return [type(fault).__name__, list(fault.args)]


def _stocks(offset: int) -> list[Any]:
    async def one(key: int) -> list[int]:
        return [await clonoscope.external(stock, key), clonoscope.time_ns()]

    async def several() -> list[Any]:
        return await asyncio.gather(*(one(offset + n) for n in range(4)))

    return asyncio.run(several())


_SERVICES: dict[str, Callable[[int], Any]] = {
    "time_ns": lambda _: clonoscope.time_ns(),
    "time": lambda _: clonoscope.time(),
    "random": lambda _: clonoscope.random(),
    "seeded": lambda _: random.random() if _intercepted else 0,
    "uuid4": lambda _: str(clonoscope.uuid4()),
    "urandom": lambda offset: base64.b64encode(clonoscope.urandom(offset % 20)).decode(),
    "price": _price,
    "host": lambda offset: _cautious(host, offset),
    "stocks": _stocks,
}
_WEIGHTS = (20, 20, 20, 5, 3, 3, 20, 5, 2)
