"""How long questions of pages take over the tables of a job with so many determinants: `python -m bench.queries`.

Tables are made by the ingest itself, from real logs of a recorded job one behind the other; who holds them is written
beside, by the writer of the lake. Each question is asked at random places, in one process that goes on (warm) and as
the first one of new processes, from opening the lake on. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.large_lake import JOB, made_large

GOAL_WARM_MS, GOAL_NEW_MS = 20.0, 60.0
# More than the ratio of the logarithms is growth; a millisecond is noise.
NOISE_MS = 1.0
QUESTIONS = ("page", "table page", "epochs of a task", "counts by kind", "kinds of an epoch", "holders at a moment")


class Asking:
    """The questions of pages and API, at random places; the seed is the whole reproduction."""

    def __init__(self, data: Path, seed: int) -> None:
        from ingest.lake.readers import Lake

        self.random, self.lake = random.Random(seed), Lake(data)
        self.places = json.loads((data / "places.json").read_text())

    def ask(self, question: str) -> None:
        """Raises where an answer is empty: a question that finds nothing may be quick."""
        from dashboard.queries.determinants import LogEpoch

        task, attempt, thread, epoch, count, last_us = self.random.choice(self.places["logs"])
        log = LogEpoch(task, attempt, thread, epoch)
        seq, t_us = self.random.randrange(count), self.random.randrange(last_us // 2, last_us)
        if not _ANSWERS[question](self.lake, log, seq, t_us, self.places["tasks"]):
            raise AssertionError(f"{question}: no answer for {log}, {seq}, {t_us}")


def _page(lake: Any, log: Any, seq: int, t_us: int, tasks: Any) -> Any:
    from dashboard.queries.determinants import determinants_from

    return determinants_from(lake.job(JOB), log, seq=seq, limit=200).rows


def _table_page(lake: Any, log: Any, seq: int, t_us: int, tasks: Any) -> Any:
    from dashboard.queries.tables import table_page

    asked = {"task": log.task, "attempt": str(log.attempt), "thread": log.thread, "epoch": str(log.epoch)}
    return table_page(lake.job(JOB), "determinants", {**asked, "seq.from": str(seq)}, "", 200).rows


def _epochs(lake: Any, log: Any, seq: int, t_us: int, tasks: Any) -> Any:
    from dashboard.queries.log_epochs import log_choices

    return log_choices(lake, job=JOB, task=log.task)


def _counts(lake: Any, log: Any, seq: int, t_us: int, tasks: Any) -> Any:
    from dashboard.queries.tasks import task_summaries

    return any(one.kinds for one in task_summaries(lake, job=JOB, tasks=tasks, failed=[]))


def _kinds(lake: Any, log: Any, seq: int, t_us: int, tasks: Any) -> Any:
    from dashboard.queries.log_epochs import kinds_of

    return kinds_of(lake, job=JOB, log=log)


def _holders(lake: Any, log: Any, seq: int, t_us: int, tasks: Any) -> Any:
    from dashboard.queries.holders import holders_at

    return holders_at(lake, job=JOB, log=log, t_us=t_us)


_ANSWERS: dict[str, Callable[[Any, Any, int, int, Any], Any]] = dict(
    zip(QUESTIONS, (_page, _table_page, _epochs, _counts, _kinds, _holders), strict=True)
)


def measure(data: Path, times: int, new_processes: int, seed: int) -> dict[str, dict[str, float]]:
    """By question: milliseconds, warm and of new processes."""
    asking, found = Asking(data, seed), {}
    for question in QUESTIONS:
        asking.ask(question)
        warm = sorted(_timed(lambda: asking.ask(question)) for _ in range(times))  # noqa: B023 - called at once
        new = sorted(_in_new_process(data, question, seed + n) for n in range(new_processes))
        found[question] = {"median": warm[times // 2], "p95": _p95(warm), "new_p95": _p95(new), "new_median": _mid(new)}
    return found


def _mid(times_ms: list[float]) -> float:
    return times_ms[len(times_ms) // 2]


def _p95(times_ms: list[float]) -> float:
    return times_ms[min(len(times_ms) - 1, math.ceil(0.95 * len(times_ms)) - 1)]


def _timed(ask: Callable[[], None]) -> float:
    began = time.perf_counter()
    ask()
    return round((time.perf_counter() - began) * 1000, 2)


def _in_new_process(data: Path, question: str, seed: int) -> float:
    line = [sys.executable, "-m", "bench.queries", "--ask", question, "--data", str(data), "--seed", str(seed)]
    ran = subprocess.run(line, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(ran.stderr)
    return float(ran.stdout)


def _ask_once(data: Path, question: str, seed: int) -> None:
    """From opening the lake on; what a server loads once, when it starts, is loaded before."""
    _load()
    print(_timed(lambda: Asking(data, seed).ask(question)))


def _load() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    django.setup()
    import dashboard.queries.determinants
    import dashboard.queries.holders
    import dashboard.queries.log_epochs
    import dashboard.queries.tables
    import dashboard.queries.tasks  # noqa: F401


def judged(sizes: list[int], told: dict[int, dict[str, dict[str, float]]]) -> dict[str, list[str]]:
    """What is past its goal, at the largest size; and what grew by more than the logarithm, from the smallest on."""
    first, last = min(sizes), max(sizes)
    past, grew = [], []
    for question in QUESTIONS:
        now, before = told[last][question], told[first][question]
        past += [f"{question}, warm: {now['p95']} ms"] if now["p95"] > GOAL_WARM_MS else []
        past += [f"{question}, new process: {now['new_p95']} ms"] if now["new_p95"] > GOAL_NEW_MS else []
        for which in ("median", "new_median"):
            most = before[which] * math.log(last) / math.log(first) + NOISE_MS
            grew += [f"{question}, {which}: {before[which]} to {now[which]} ms"] if now[which] > most else []
    return {"past_goal": past, "grew_more_than_log": grew}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--determinants", type=int, nargs="+", default=[1_500_000, 15_000_000, 150_000_000])
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--new-processes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, help="keep what is made here, and use what is there")
    parser.add_argument("--ask", choices=QUESTIONS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.ask:
        _ask_once(asked.data, asked.ask, asked.seed)
        return
    _load()
    root, told = asked.data or Path(tempfile.mkdtemp(prefix="clonoscope-bench-")), {}
    try:
        for size in asked.determinants:
            data = root / f"{size}"
            if not (data / "places.json").exists():
                made_large(data, size, asked.seed)
            told[size] = measure(data, asked.times, asked.new_processes, asked.seed)
            print(size, json.dumps(told[size]), file=sys.stderr, flush=True)
    finally:
        if asked.data is None:
            shutil.rmtree(root)
    print(json.dumps({"seed": asked.seed, "ms": told, **judged(asked.determinants, told)}))


if __name__ == "__main__":
    main()
