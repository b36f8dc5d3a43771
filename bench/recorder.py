"""What recording costs a job: the time of a question, bytes a record, throughput and latency with and without.

`python -m bench.recorder`. Both sides in one run, batch by batch in turn, on one core; by the seconds of the processor,
as others may use the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import clonoscope
from bench.side_by_side import compared, p99_us
from clonoscope.reading import size_of
from clonoscope.tasks import Task

_CALLS = 100_000
_REPEATS = 15
_BATCH = 2_000
# Lines of an order: what a record takes without recording goes from a few microseconds to some tens.
_JOBS = {"light_job": 5, "usual_job": 60}


def main() -> int:
    """Prints the numbers as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=40_000, help="of each side of each round of the sample job")
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    folder = Path(tempfile.mkdtemp(prefix="clonoscope-bench-"))
    try:
        numbers = {
            "question_ns": questions(folder),
            **{name: sample_job(folder / name, lines, chosen.records, chosen.rounds) for name, lines in _JOBS.items()},
            "retries": retries(folder),
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(numbers))
    return 0


def questions(folder: Path, calls: int = _CALLS, repeats: int = _REPEATS) -> dict[str, float]:
    """The least CPU time of a call, each service beside the function of Python that it stands for."""
    asked: dict[str, Callable[[], Any]] = {
        "time.time": time.time,
        "time": clonoscope.time,
        "time.time_ns": time.time_ns,
        "time_ns": clonoscope.time_ns,
        "random": clonoscope.random,
        "uuid4": clonoscope.uuid4,
    }
    found = {}
    with clonoscope.start("questions", dir=folder, max_mb=64, keep=1, dump_on=()) as recording:
        task = recording.task("p")
        for number, (name, function) in enumerate(asked.items()):
            times = []
            # Made once: a job asks from one place again and again, and each timer would be another.
            timer = timeit.Timer("ask()", globals={"ask": function}, timer=time.process_time)
            for repeat in range(repeats):
                with task.epoch(number * repeats + repeat):
                    times.append(timer.timeit(calls) / calls)
            found[name] = round(min(times) * 1e9, 1)
        offsets = iter(range(1 << 40))
        with task.epoch(1_000_000):
            timer = timeit.Timer(lambda: task.take(next(offsets), topic="in"), timer=time.process_time)
            found["take"] = round(min(timer.repeat(repeats, calls)) / calls * 1e9, 1)
    return found


def retries(folder: Path, answers: int = 20_000, epochs: int = 40) -> dict[str, float]:
    """What an epoch's end costs that waits for the disk, and what an answer costs that is taken from before."""
    found = {}
    for sync in (False, True):
        ends = []
        with clonoscope.start(f"ends-{sync}", dir=folder, retry="replay", sync=sync, dump_on=()) as recording:
            task = recording.task("p")
            for number in range(epochs):
                task.begin_epoch(number)
                with task.at_work():
                    for _ in task.records(range(answers // 10), number * answers, topic="in"):
                        clonoscope.time()
                began = time.perf_counter()
                task.end_epoch()
                ends.append(time.perf_counter() - began)
        found["synced_end_ms" if sync else "end_ms"] = round(statistics.median(ends) * 1e3, 3)
    for name in ("live_ns", "taken_ns"):
        with clonoscope.start("taken", dir=folder, retry="replay", dump_on=()) as recording:
            task = recording.task("p")
            task.begin_epoch(0)
            with task.at_work():
                began = time.process_time()
                for _ in task.records(range(answers), 0, topic="in"):
                    clonoscope.time()
                found[name] = round((time.process_time() - began) / answers * 1e9, 1)
            task.fail("once more")
    return found


def order(number: int, lines: int) -> bytes:
    """A record as it comes from a broker."""
    of_order = [{"sku": f"sku-{number % 97}-{line}", "count": line + 1, "cents": 1000 + line} for line in range(lines)]
    return json.dumps({"order": number, "customer": f"c{number % 1013}", "lines": of_order}).encode()


class Job:
    """A plain job: reads an order, sums it up by customer, writes a line."""

    def __init__(self) -> None:
        self.totals: dict[str, int] = {}
        self.written = 0

    def process(self, data: bytes, now: float) -> bytes:
        """What it does with a record."""
        found = json.loads(data)
        cents = sum(line["count"] * line["cents"] for line in found["lines"])
        customer = found["customer"]
        total = self.totals[customer] = self.totals.get(customer, 0) + cents
        out = json.dumps({"order": found["order"], "customer": customer, "total": total, "at": now}).encode()
        self.written += len(out)
        return out


def sample_job(folder: Path, lines: int, records: int, rounds: int) -> dict[str, Any]:
    """Its share of throughput that is left, and what a record adds to latency and to the segments."""
    orders = [order(number, lines) for number in range(_BATCH)]
    plain, recorded = [], []
    batches = rounds * records // _BATCH
    with clonoscope.start("job", dir=folder, max_mb=1024, dump_on=()) as recording:
        task = recording.task("orders")
        before = size_of(recording.folder)
        job, other = Job(), Job()
        for number in range(batches):
            # Side by side, so that whoever else is at work slows both down; and each is first as often.
            if number % 2:
                plain.append(_unrecorded(job, orders))
            recorded.append(_recorded(task, other, orders, number))
            if not number % 2:
                plain.append(_unrecorded(job, orders))
        used = size_of(recording.folder) - before - len(task.log.view) * 8 + task.log.pos * 8
        faults = recording.faults
    warm = batches // 10
    return {
        **compared(plain[warm:], recorded[warm:]),
        "plain_us_a_record": round(min(plain) / _BATCH * 1e6, 2),
        "recorded_us_a_record": round(min(recorded) / _BATCH * 1e6, 2),
        "p99_latency_added_us": round(p99_us(recorded[warm:], _BATCH) - p99_us(plain[warm:], _BATCH), 2),
        "bytes_a_record": round(used / (_BATCH * batches), 3),
        "faults": faults,
    }


def _unrecorded(job: Job, orders: list[bytes]) -> float:
    began = time.process_time()
    for data in orders:
        job.process(data, time.time())
    return time.process_time() - began


def _recorded(task: Task, job: Job, orders: list[bytes], number: int) -> float:
    began = time.process_time()
    with task.epoch(number):
        for data in task.records(orders, number * _BATCH, topic="orders"):
            job.process(data, clonoscope.time())
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
