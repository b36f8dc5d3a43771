"""Kills jobs at random moments and begins them again: with precise retries an idempotent sink ends exactly once.

`python -m bench.retry_kills --times 1000 --seed 1`
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.retry_job import run_job
from clonoscope.reading import RETRY_ENDED, AttemptLog, attempts_of

_KILLS_MOST = 4
_LARGEST_LINES = 150


@dataclass(slots=True)
class Seen:
    """What the world saw of a job: every write, in order, and how often the job was killed."""

    writes: list[tuple[str, str]] = field(default_factory=list)
    kills: int = 0

    @property
    def duplicates(self) -> int:
        """Writes of an id that had been written."""
        return len(self.writes) - len({id_ for id_, _ in self.writes})

    @property
    def torn(self) -> list[str]:
        """Ids that were written with values that differ: what no idempotent sink can make good again."""
        values: dict[str, set[str]] = {}
        for id_, value in self.writes:
            values.setdefault(id_, set()).add(value)
        return sorted(id_ for id_, found in values.items() if len(found) > 1)


def run_with_kills(folder: Path, seed: int, *, retry: bool) -> Seen:
    """A job, begun again after each kill, until it comes to its end."""
    chooser, seen = random.Random(seed), Seen()
    for turn in range(_KILLS_MOST + 1):
        upto = chooser.randrange(_LARGEST_LINES) if turn < _KILLS_MOST else None
        if _run_once(folder, seed, upto, retry=retry):
            break
        seen.kills += 1
    lines = (folder / "sink").read_text().splitlines()
    seen.writes = [(id_, json.dumps(value)) for id_, value in map(json.loads, lines)]
    return seen


def _run_once(folder: Path, seed: int, upto: int | None, *, retry: bool) -> bool:
    """Whether it came to its end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        status = 1
        try:
            os.setpgid(0, 0)
            os.write(writing, b"!")
            run_job(folder, writing, seed, retry=retry)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    count = -1
    # To its end, which comes when the last of its workers is gone.
    while told := os.read(reading, 1):
        count += len(told)
        if count == upto:
            os.killpg(child, signal.SIGKILL)
    os.close(reading)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in (0, -signal.SIGKILL):
        raise RuntimeError(f"seed {seed}: the job itself ended with {status}")
    return status == 0


def faults_of(folder: Path, seen: Seen) -> Iterator[str]:
    """What precise retries got wrong; nothing, where all is as it should be."""
    for id_ in seen.torn:
        yield f"{id_} was written with values that differ"
    given: dict[tuple[str, int], list[str]] = {}
    for log in attempts_of(folder / "job"):
        for epoch, lines in _by_epoch(log).items():
            before = given.setdefault((log.task, epoch), [])
            common = min(len(before), len(lines))
            if lines[:common] != before[:common]:
                at = next(n for n in range(common) if lines[n] != before[n])
                yield f"{log.task}/{log.attempt} epoch {epoch}: entry {at} is {lines[at]} and was {before[at]}"
            if len(lines) > len(before):
                given[log.task, epoch] = lines


def _by_epoch(log: AttemptLog) -> dict[int, list[str]]:
    """What an attempt was given and gave, by epoch, without what is told of places; and without what it failed of."""
    found: dict[int, list[str]] = {}
    for entry in log.entries():
        lines = found.setdefault(-1 if entry.epoch is None else entry.epoch, [])
        if entry.kind in ("call", "output"):
            fields = {key: value for key, value in entry.fields.items() if key != "site"}
            lines.append(json.dumps([entry.kind, fields]))
        elif entry.kind == "end" and entry.fields.get("how") == "failed" and lines and '"raised"' in lines[-1]:
            lines.pop()
    return found


def why_lived(folder: Path) -> Counter[str]:
    """How often taking ended, and how."""
    events = (entry.fields for log in attempts_of(folder / "job") for entry in log.entries() if entry.kind == "event")
    return Counter(f"retry {one['how']}" for one in events if one["type"] == RETRY_ENDED)


def kill_once(seed: int, *, retry: bool = True) -> tuple[Seen, list[str], Counter[str]]:
    """A job with its kills. Returns what the world saw, what is wrong, and what was met."""
    folder = Path(tempfile.mkdtemp(prefix="clonoscope-retries-"))
    try:
        seen = run_with_kills(folder, seed, retry=retry)
        met = why_lived(folder) + Counter(kills=seen.kills, duplicates=seen.duplicates, torn=len(seen.torn))
        return seen, list(faults_of(folder, seen)) if retry else [], met
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Prints each seed that is not exactly once, and the numbers as JSON; beside them those without retries."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    began, bad = time.monotonic(), 0
    with_retries, without = Counter[str](), Counter[str]()
    for seed in range(chosen.seed, chosen.seed + chosen.times):
        _, faults, met = kill_once(seed)
        with_retries += met
        without += kill_once(seed, retry=False)[2]
        bad += bool(faults)
        for fault in faults:
            print(f"seed {seed}: {fault}", flush=True)
    numbers = {"times": chosen.times, "wrong": bad, "seconds": round(time.monotonic() - began, 1)}
    print(json.dumps({**numbers, "with": with_retries, "without": without}))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
