"""A random job for the recorder: it asks for everything, and tells through a pipe what it was given."""

from __future__ import annotations

import base64
import json
import os
import random
import resource
import threading
from pathlib import Path
from typing import Any

import clonoscope
from clonoscope.recording import Recording
from clonoscope.tasks import Task

SERVICES = ("time_ns", "time", "random", "uuid4", "urandom", "external", "raising")
_WEIGHTS = (30, 30, 30, 2, 2, 6, 2)
SMALL_SEGMENT_BYTES = 4096
_TOO_SMALL_FOR_A_SEGMENT = 1024


def answering(size: int) -> Any:
    """A call outside."""
    return {"asked": size, "text": "x" * size}


def refusing(size: int) -> Any:
    """A call outside that fails."""
    raise LookupError(f"no {size}")


class Teller:
    """Tells the parent what a task was given, one line each, after it was given."""

    def __init__(self, pipe: int, task: Task):
        self._pipe, self._task = pipe, task
        self._dropped = 0

    def tell(self, kind: str, value: Any) -> None:
        """`recorded` is whether the log has it; one that it had to drop is a gap."""
        log = self._task.log
        recorded, self._dropped = log.dropped == self._dropped, log.dropped
        line = [self._task.id, log.attempt, kind, value, recorded]
        os.write(self._pipe, json.dumps(line).encode() + b"\n")


def ask(service: str, chooser: random.Random) -> Any:
    """Asks one service; gives what a log holds of the answer."""
    match service:
        case "uuid4":
            return str(clonoscope.uuid4())
        case "urandom":
            return {"b64": base64.b64encode(clonoscope.urandom(chooser.randrange(30))).decode()}
        case "external":
            return clonoscope.external(answering, chooser.choice((0, 7, 40, 300)))
        case "raising":
            try:
                clonoscope.external(refusing, 3, effect="write")
            except LookupError as fault:
                return ["LookupError", str(fault)]
    return getattr(clonoscope, service)()


def run_task(task: Task, pipe: int, seed: int) -> None:
    """Epochs of records, each with some questions. Sometimes the disk has no room for a while."""
    chooser = random.Random(seed)
    teller = Teller(pipe, task)
    offsets = [0] * chooser.choice((1, 1, 3))
    crowded = chooser.random() < 0.3
    for epoch in range(chooser.randrange(2, 6)):
        with task.at_work():
            task.begin_epoch(epoch)
            teller.tell("epoch", epoch)
            for _ in range(chooser.randrange(300)):
                _take(task, chooser, offsets, teller)
                for service in chooser.choices(SERVICES, _WEIGHTS, k=chooser.randrange(4)):
                    teller.tell(service, ask(service, chooser))
                if crowded and chooser.random() < 0.02:
                    _turn_disk(full=chooser.random() < 0.5)
                if chooser.random() < 0.05:
                    task.output([epoch, 0, "out"])
                    teller.tell("output", [epoch, 0, "out"])
            task.log.flush_advance()
            teller.tell("flush", None)
            task.end_epoch()
            teller.tell("end", epoch)
    _turn_disk(full=False)


def _take(task: Task, chooser: random.Random, offsets: list[int], teller: Teller) -> None:
    partition = chooser.randrange(len(offsets))
    if chooser.random() < 0.02:
        offsets[partition] += chooser.randrange(1, 5)  # as in a compacted topic
    offset = offsets[partition]
    offsets[partition] += 1
    task.take(offset, topic="in", partition=partition)
    teller.tell("take", [partition, offset])


def _turn_disk(*, full: bool) -> None:
    """The system refuses every file that is large enough to be a segment."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (_TOO_SMALL_FOR_A_SEGMENT if full else most, most))


def run_job(folder: Path, pipe: int, seed: int) -> None:
    """To its end, if nobody kills it."""
    chooser = random.Random(seed)
    Recording.segment_bytes = chooser.choice((SMALL_SEGMENT_BYTES, 4 * SMALL_SEGMENT_BYTES, 256 << 10))
    with clonoscope.start("job", dir=folder, dump_on=()) as recording:
        tasks = [recording.task("p", number) for number in range(chooser.choice((1, 1, 2, 3)))]
        threads = [threading.Thread(target=run_task, args=(task, pipe, seed * 31 + task.subtask)) for task in tasks[1:]]
        for one in threads:
            one.start()
        run_task(tasks[0], pipe, seed * 31)
        for one in threads:
            one.join()
