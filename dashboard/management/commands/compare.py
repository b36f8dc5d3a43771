"""`compare JOB [OTHER]`: two attempts side by side, of one task or of two recordings; where they first differ."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from dashboard import bundles, payloads, replaying
from dashboard.management.base import Command as Base
from dashboard.management.base import Failure, Outcome, WrongUse
from dashboard.models import Job
from dashboard.opening import open_folder


class Command(Base):
    help = "Holds two attempts of a task side by side, of JOB, or of JOB and OTHER: ids, or paths of bundles."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("job", metavar="JOB", help="a job's id, or a bundle's path")
        parser.add_argument("other", metavar="OTHER", nargs="?", help="the second recording; else the same one")
        parser.add_argument("--task", metavar="T", required=True)
        parser.add_argument("--other-task", metavar="T", help="of the second side, where it has another name")
        parser.add_argument("--attempt", metavar="K", type=int, default=0, help="of the first side; default 0")
        parser.add_argument(
            "--other-attempt", metavar="K", type=int, help="of the second side; default 1, of two recordings 0"
        )

    def run(self, **options: Any) -> Outcome:
        from replay.bundle.reader import open_bundle
        from replay.debugger.sides.attempts import Side, compare_attempts

        second = options["other"] or options["job"]
        attempt, other = options["attempt"], options["other_attempt"]
        if other is None:
            other = 0 if options["other"] else 1
        other_task = options["other_task"] or options["task"]
        if second == options["job"] and (options["task"], attempt) == (other_task, other):
            raise WrongUse("Name two attempts: these are one and the same.")
        with (
            _bundle_of(options["job"]) as path, open_bundle(path) as one,
            _bundle_of(second) as other_path, open_bundle(other_path) as two,
        ):  # fmt: skip
            names = _names(options["job"], second, (options["task"], attempt), (other_task, other))
            sides = Side(one, options["task"], attempt, names[0]), Side(two, other_task, other, names[1])
            report = compare_attempts(*sides)
        return Outcome(report["sentence"], report)


@contextmanager
def _bundle_of(target: str) -> Iterator[Path]:
    if not replaying.is_job_id(target):
        if not Path(target).exists():
            raise Failure(f"{target} is neither a job's id nor a path that exists.")
        yield Path(target)
        return
    open_folder()
    if not Job.objects.filter(id=target).exists():
        raise Failure(f"There is no job {target} in this data folder; a path is forced by ./{target}.")
    payloads.note_command(target, "compare")
    with bundles.bundle(target) as path:
        yield path


def _names(first: str, second: str, one: tuple[str, int], other: tuple[str, int]) -> tuple[str, str]:
    names = f"attempt {one[1]} of {one[0]}", f"attempt {other[1]} of {other[0]}"
    return names if first == second else (f"{names[0]} in {first}", f"{names[1]} in {second}")
