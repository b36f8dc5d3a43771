"""`clonoscope coverage`: runs a job for a while, and lists what it asks past the recorder."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import clonoscope.ears
from clonoscope.errors import WrongUse
from clonoscope.onsite.execution import Execution
from clonoscope.onsite.hearing import JobHearing
from clonoscope.onsite.replaying import GOOD, NOT_GOOD, add_what_is_replayed, asked_of, held_of
from replay.bundle.reader import open_bundle
from replay.debugger.writing.words import counted
from replay.errors import ReplayError, printable

PATIENCE_S = 10.0
ADVICE = {
    "clock": "clonoscope.time_ns() or time(), or intercept()",
    "random": "clonoscope.random(), uuid4() or urandom(), or intercept()",
    "environment": "clonoscope.external(os.environ.get, NAME), or read it before the job begins",
    "files": "clonoscope.external(…)",
    "network": 'clonoscope.external(…), with effect="write" where it changes something',
    "machine": "clonoscope.external(…)",
    "identity": "nothing records it: another process has other identities and hashes",
    "threads": "nothing records how threads take turns",
}
_KEY = ("within", "kind", "call", "file", "line")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's."""
    add_what_is_replayed(parser, optional=True)
    parser.add_argument("--seconds", type=float, help="end the job after so long, as Ctrl-C would")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    parser.epilog = "Either the job itself, behind --: clonoscope coverage --seconds 60 -- python job.py; or a bundle."


def run(chosen: argparse.Namespace) -> int:
    """The exit status. Raises `ReplayError` and `OSError`."""
    if (chosen.bundle is None) == (not chosen.job):
        remedy = "Put it behind --, as in: clonoscope coverage -- python job.py; or name a bundle and --app"
        raise WrongUse("coverage listens to a job, or to a function along a bundle", remedy=remedy)
    status, found = _along(chosen) if chosen.bundle is not None else _listened(chosen.job, chosen.seconds)
    _tell(found)
    if chosen.json:
        print(json.dumps({"uncovered": found, "status": status}, ensure_ascii=False))
    if status:
        raise ReplayError(f"the job ended with status {status}", remedy="What it asked up to there is listed")
    return NOT_GOOD if any(one["within"] == "task" for one in found) else GOOD


def _along(chosen: argparse.Namespace) -> tuple[int, list[dict[str, Any]]]:
    """Of the function alone, fed by a recording."""
    heard: list[dict[str, Any]] = []
    with open_bundle(chosen.bundle) as opened:
        held = held_of(opened, chosen)
        one = Execution(held, asked_of(held, chosen))
        with JobHearing(lambda found: heard.append({"process": os.getpid(), **found})).listening():
            outcome = one.run()
    print(f"{outcome.verdict}: {outcome.sentence}")
    return 0, summed(heard)


def _listened(job: list[str], seconds: float | None) -> tuple[int, list[dict[str, Any]]]:
    with tempfile.TemporaryDirectory(prefix="clonoscope-coverage-") as folder:
        path = Path(folder) / "heard.ndjson"
        path.touch()
        before = os.environ.get("PYTHONPATH")
        ears = str(Path(clonoscope.ears.__file__).parent)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([ears, before] if before else [ears]),
            "CLONOSCOPE_COVERAGE": str(path),
        }
        status = _ran(job, environment, seconds)
        lines = path.read_bytes().splitlines()
    return status, summed(json.loads(line) for line in lines)


def _ran(job: list[str], environment: dict[str, str], seconds: float | None) -> int:
    """Its exit status; 0 where it was ended because its time was over."""
    try:
        process = subprocess.Popen(job, env=environment)
    except OSError as fault:
        raise WrongUse(f"{printable(job[0])} can't be started: {fault.strerror}") from fault
    try:
        return process.wait(seconds)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            process.send_signal(number)
            try:
                process.wait(PATIENCE_S)
                break
            except subprocess.TimeoutExpired:
                continue
        return 0


def summed(heard: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """A place once, with how often it was heard at least, in all processes; what tasks ask comes first."""
    counts: dict[tuple[Any, ...], dict[int, int]] = {}
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for one in heard:
        key = tuple(one[name] for name in _KEY)
        rows.setdefault(key, {name: value for name, value in one.items() if name not in ("process", "count")})
        counts.setdefault(key, {})[one["process"]] = one["count"]
    order = sorted(rows, key=lambda key: (key[0] != "task", *map(str, key[1:4]), key[4]))
    return [{**rows[key], "count": sum(counts[key].values())} for key in order]


def _tell(found: list[dict[str, Any]]) -> None:
    for within, words in (("task", "asked within tasks"), ("outside", "asked outside of tasks")):
        own = [one for one in found if one["within"] == within]
        if own or within == "task":
            print(f"{counted(len(own), 'place')} {words} that nothing records{':' if own else '.'}")
        for one in own:
            through = f", through {one['through']}" if one["through"] else ""
            detail = f" ({printable(one['detail'])})" if one["detail"] else ""
            print(
                f"  {one['file']}:{one['line']} in {one['function']}: {one['call']}{detail}{through}, {one['count']}×"
            )
            print(f"    {one['text']}")
        for kind in dict.fromkeys(one["kind"] for one in own):
            print(f"  {kind}: {ADVICE[kind]}")
    sys.stdout.flush()
