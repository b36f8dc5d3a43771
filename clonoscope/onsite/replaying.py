"""`clonoscope replay`: an attempt of a bundle, where its code is."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clonoscope.errors import WrongUse
from clonoscope.onsite.application import called_with, load
from clonoscope.onsite.execution import Asked, Execution
from clonoscope.onsite.held import Held, chosen_attempt, chosen_task, whole
from replay.bundle.reader import Bundle, open_bundle
from replay.debugger.elsewhere.writing import StepFile
from replay.debugger.outcome import Outcome
from replay.debugger.ports import NoSteps, StepSink
from replay.errors import printable

GOOD, NOT_GOOD = 0, 3


def add_what_is_replayed(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Arguments that say which attempt of what, and whose function."""
    parser.add_argument("bundle", type=Path, nargs="?" if optional else None, help="a recording's bundle")
    parser.add_argument("--app", help="the job's function, as jobs.orders:process; else what the recording names")
    parser.add_argument("--task", help="the task, as orders.3; needed where several have failed")
    parser.add_argument("--attempt", type=int, help="which attempt of it; else the last that failed, or the last")
    parser.add_argument("--records", help="a reader of records, as jobs.orders:read, where the bundle has references")
    parser.add_argument(
        "--only", action="append", default=[], metavar="PACKAGE", help="intercept the code of this package alone"
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """All of the command's."""
    add_what_is_replayed(parser)
    parser.add_argument("--at", metavar="RECORD", help="stop before this record: orders[3]@1207, or an offset alone")
    parser.add_argument("--pdb", action="store_true", help="open the debugger there, or where the replay diverges")
    parser.add_argument("--out", type=Path, help="write the steps, as a .zip that a job on the server takes")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")


def run(chosen: argparse.Namespace) -> int:
    """The exit status. Raises `ReplayError` and `OSError`."""
    with open_bundle(chosen.bundle) as opened, called_with(chosen.job):
        if chosen.out is None:
            execution = executed(opened, chosen, NoSteps())
        else:
            with StepFile(chosen.out) as steps:
                execution = executed(opened, chosen, steps)
                steps.close(execution[1], opened.content_id())
    one, outcome = execution
    status = GOOD if one.stopped is not None else outcome.exit_status
    tell(outcome, chosen.json)
    return status


def executed(opened: Bundle, chosen: argparse.Namespace, sink: StepSink) -> tuple[Execution, Outcome]:
    """The replay that the arguments ask for."""
    held = held_of(opened, chosen)
    asked = asked_of(held, chosen)
    one = Execution(held, asked, sink)
    return one, one.run()


def held_of(opened: Bundle, chosen: argparse.Namespace) -> Held:
    """The attempt that is meant."""
    bundle = whole(opened)
    task = chosen_task(bundle, chosen.task)
    return Held.of(bundle, task, chosen_attempt(bundle, task, chosen.attempt))


def asked_of(held: Held, chosen: argparse.Namespace) -> Asked:
    """How it is replayed."""
    reader: Callable[..., Any] | None = load(chosen.records, "--records") if chosen.records else None
    return Asked(
        app_of(held, chosen.app),
        reader,
        getattr(chosen, "at", None),
        getattr(chosen, "pdb", False),
        tuple(chosen.only),
    )


def app_of(held: Held, named: str | None) -> str:
    """What is named; else the operator that was recorded, if that names a function."""
    if named:
        return named
    operator = held.bundle.graph.vertex_of(held.task).operator or ""
    if ":" not in operator:
        remedy = "Name it with --app, as jobs.orders:process"
        raise WrongUse(f"the recording does not say whose function {held.task} is", remedy=remedy)
    return operator


def tell(outcome: Outcome, as_json: bool) -> None:
    """What it came to, for a person or for a program."""
    print(f"{outcome.verdict}: {outcome.sentence}")
    line = outcome.detail.get("line")
    if line:
        print(f"  {line['file']}:{line['line']} in {line['function']}: {printable(line['text'])}")
    for name, words in (("asked", "the replay makes"), ("logged", "the recording holds")):
        if name in outcome.detail and outcome.verdict != "identical":
            print(f"  {words} {printable(str(outcome.detail[name]))}")
    if as_json:
        print(json.dumps(outcome.to_json(), ensure_ascii=False))
    sys.stdout.flush()
