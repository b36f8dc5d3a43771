"""Kills the web process, the worker, a child, the JVM or a cluster's machine with -9 at random moments of ingests and
replays, many times.

After every kill the system is started again where it must be and left to itself; then each job and replay has finished,
or failed with words and can be tried again, and nothing half done lies anywhere. The last line is one JSON object; the
exit status is 0 only if nothing was half done. `python -m bench.kills --times 200 --seed 1`
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
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.kill_checks import Checks
from bench.kill_system import System, embedded, on_a_cluster, with_redis
from bench.server_process import ROOT, NotInTime, processes_of, run_command, wait_until

MODES = {"embedded": embedded, "redis": with_redis, "cluster": on_a_cluster}
SETTLE_WITHIN_S = 240.0
VICTIMS = ("web", "worker", "driver", "jvm", "replay", "audit", "spare", "machine", "executor")
# From before a driver has started to after an ingest has been published.
LONGEST_WAIT_S = 6.0
RECORDINGS = (("--events", "2000"), ("--events", "6000"), ("--events", "12000", "--parallelism", "3"))
# Every so many rounds the jobs are deleted, so that deleting is killed too and the store stays small.
DELETE_EVERY = 8


@dataclass
class Tally:
    """What happened, for the last line."""

    kills: Counter[str] = field(default_factory=Counter)
    finished: int = 0
    failed_with_words: int = 0
    retried: int = 0
    deleted: int = 0
    half: list[str] = field(default_factory=list)

    def report(self, options: argparse.Namespace, took_s: float) -> dict[str, Any]:
        return {
            "kills": sum(self.kills.values()),
            "by_victim": dict(sorted(self.kills.items())),
            "finished": self.finished,
            "failed_with_words": self.failed_with_words,
            "retried": self.retried,
            "deleted": self.deleted,
            "half_done": self.half,
            "mode": options.mode,
            "seed": options.seed,
            "seconds": round(took_s, 1),
        }


class Bench:
    def __init__(self, system: System, recordings: list[Path], seed: int) -> None:
        self.system = system
        self.recordings = recordings
        self.random = random.Random(seed)
        self.tally = Tally()
        self.checks = Checks(system.data, system.environment)

    def round(self, number: int) -> None:
        self.system.ensure_running()
        self._ask_for_work(number)
        # Sooner is likelier: replays begin at once and are soon over, ingests go on.
        time.sleep(LONGEST_WAIT_S * self.random.random() ** 2)
        victim = self._kill_somebody()
        if victim is not None:
            self.tally.kills[victim] += 1
        self.system.ensure_running()
        self._settle()

    def _ask_for_work(self, number: int) -> None:
        self.checks.create(self.random.choice(self.recordings), f"round {number}")
        for job_id in self.checks.ready_jobs()[:2]:
            self.checks.start_replay(job_id)
        if number % DELETE_EVERY == DELETE_EVERY - 1:
            self.tally.deleted += self.checks.delete_all()

    def _kill_somebody(self) -> str | None:
        alive = [one for one in processes_of(self.system.data) if one.kind in VICTIMS]
        kinds = sorted({one.kind for one in alive})
        if not kinds:
            return None
        kind = self.random.choice(kinds)
        chosen = self.random.choice(sorted((one for one in alive if one.kind == kind), key=lambda one: one.pid))
        try:
            os.kill(chosen.pid, signal.SIGKILL)
        except ProcessLookupError:
            return None
        self.system.await_end(chosen.pid)
        return kind

    def _settle(self) -> None:
        """What failed is tried again: only that shows that it can be."""
        wait_until(lambda: not self.checks.pending(), "the end of all work", SETTLE_WITHIN_S, every_s=0.3)
        failed, wordless = self.checks.failed()
        self.tally.failed_with_words += len(failed)
        self.tally.half += [f"{one} failed without a word" for one in wordless]
        for target in failed:
            self.checks.retry(target)
            self.tally.retried += 1
        wait_until(lambda: not self.checks.pending(), "the end of what was tried again", SETTLE_WITHIN_S, every_s=0.3)
        wait_until(lambda: not self.checks.leftovers(), "the removal of leftovers", 60, every_s=0.5)
        self.tally.finished = self.checks.finished()
        self.tally.half += self.checks.half_done()


def main() -> int:
    options = _options()
    began = time.monotonic()
    with work_folder(options.data) as folder, _system(options.mode, folder / "data") as system:
        bench = Bench(system, list(_recordings(folder)), options.seed)
        number = 0
        while sum(bench.tally.kills.values()) < options.times and not bench.tally.half:
            try:
                bench.round(number)
            except NotInTime as late:
                bench.tally.half.append(f"round {number}: {late}; {bench.checks.story()}")
            print(f"round {number}: {dict(bench.tally.kills)}, half done: {bench.tally.half}", flush=True)
            number += 1
    report = bench.tally.report(options, time.monotonic() - began)
    print(json.dumps(report, separators=(",", ":")))
    return 1 if bench.tally.half else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=200, help="how many kills")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument(
        "--mode", choices=MODES, default="embedded", help="redis: a worker of its own; cluster: ingests on two machines"
    )
    parser.add_argument("--data", type=Path, help="a folder to work in; kept afterwards")
    return parser.parse_args()


@contextmanager
def _system(mode: str, data: Path) -> Iterator[System]:
    with MODES[mode](data) as system:
        yield system


@contextmanager
def work_folder(given: Path | None) -> Iterator[Path]:
    folder = (given or Path(tempfile.mkdtemp(prefix="clonoscope-kills-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder
    finally:
        if given is None:
            shutil.rmtree(folder, ignore_errors=True)


def _recordings(folder: Path) -> Iterator[Path]:
    for number, options in enumerate(RECORDINGS):
        out = folder / f"recording-{number}.tar.zst"
        if not out.exists():
            line = ["record", "pass-through", "--seed", str(number), "--kill", "map-1.0@700", *options]
            ran = run_command(folder, *line, "--out", str(out))
            if ran.status != 0:
                raise NotInTime(f"recording failed: {ran.err}")
        yield out


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
