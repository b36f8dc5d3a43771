"""`replay JOB`: replays recoveries of a stored job, or of a bundle at a path; the exit status is the verdict."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from dashboard import bundles, junit, payloads, replaying
from dashboard.looking import Look, in_words
from dashboard.management.base import ERROR, GOOD, NOT_GOOD, OPERATING, Failure, Outcome, WrongUse
from dashboard.management.base import Command as Base
from dashboard.models import Job
from dashboard.opening import open_folder
from replay.debugger.diverging.findings import ON_DIVERGENCE
from replay.debugger.executing.following import UNTIL
from replay.debugger.forks.changes import MOST_CHANGES, At, change_of
from replay.debugger.searching.conditions import WrongSearch
from replay.errors import WrongSetting, printable

log = logging.getLogger(__name__)


class Command(Base):
    help = "Replays the recoveries of JOB (an id or a bundle's path), or those named by the options."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("jobs", metavar="JOB", nargs="+", help="a job's id, or a bundle's path")
        parser.add_argument("--task", metavar="T")
        parser.add_argument("--failure", metavar="N", type=int)
        parser.add_argument("--attempt", metavar="K", type=int, help="re-execute this attempt from its own log")
        parser.add_argument(
            "--until",
            metavar="X",
            choices=UNTIL,
            default="snapshot",
            help=f"how far to go on along the new attempt's own log: {', '.join(UNTIL)}",
        )
        parser.add_argument(
            "--on-divergence",
            metavar="D",
            choices=ON_DIVERGENCE,
            default="stop",
            help="at a divergence stop, or go-on: take the recording's word, and number what follows",
        )
        parser.add_argument(
            "--fork",
            metavar="STEP",
            type=int,
            action="append",
            default=[],
            help="fork the replay at this step, with --change; given again, fork that fork",
        )
        parser.add_argument(
            "--change",
            metavar="JSON",
            action="append",
            default=[],
            help='what is otherwise there: {"change": "lost"}',
        )
        parser.add_argument(
            "--hunt",
            action="store_true",
            help="look for what the operator reads past its log, and for what moves its outputs",
        )
        parser.add_argument(
            "--fail-on-divergence", action="store_true", help="replay all of several bundles; for build servers"
        )
        parser.add_argument(
            "--shrink",
            metavar="OUT",
            type=Path,
            help="write the smallest bundle that still diverges as this replay does, to keep as a test",
        )
        parser.add_argument(
            "--at", metavar="WORDS", help="show the step to which these lead, with causes and effects: 8412, 5.2 s, …"
        )
        parser.add_argument("--find", metavar="SEARCH", help="show the steps at which a search hits")
        parser.add_argument("--junit", metavar="F", type=Path, help="write the verdicts as JUnit XML")

    def run(self, **options: Any) -> Outcome:
        targets: list[str] = options["jobs"]
        if not options["fail_on_divergence"] and (len(targets) > 1 or options["junit"]):
            raise WrongUse("Several bundles and --junit go with --fail-on-divergence.")
        wanted = replaying.Wanted(
            options["task"],
            options["failure"],
            options["attempt"],
            options["until"],
            options["on_divergence"],
            options["hunt"],
            _forks_of(options),
        )
        if wanted.hunt and wanted.until != "snapshot":
            raise WrongUse("--hunt follows a recovery to the next snapshot; leave out --until.")
        if wanted.failure is not None and wanted.attempt is not None:
            raise WrongUse("Name a failure or an attempt, not both.")
        look = _look_of(options)
        if options["shrink"] is not None:
            return self._shrink(targets, wanted, options)
        if look:
            return _outcome(targets[0], self._looked(targets[0], wanted, look))
        if not options["fail_on_divergence"]:
            return _outcome(targets[0], self._replays(targets[0], wanted))
        return self._all(targets, wanted, options["junit"])

    def _replays(self, target: str, wanted: replaying.Wanted) -> list[dict[str, Any]]:
        if not replaying.is_job_id(target):
            with self._bundle_of(target) as path:
                return replaying.replay_path(path, wanted)
        return replaying.replay_job(self._job(target), wanted, self.stderr.write)

    def _looked(self, target: str, wanted: replaying.Wanted, look: Look) -> list[dict[str, Any]]:
        try:
            if replaying.is_job_id(target):
                return replaying.look_into_job(self._job(target), wanted, look, self.stderr.write)
            with self._bundle_of(target) as path:
                return replaying.look_into_path(path, wanted, look)
        except WrongSearch as wrong:
            raise WrongUse(f"--at can't be read. {wrong}") from None

    def _shrink(self, targets: list[str], wanted: replaying.Wanted, options: dict[str, Any]) -> Outcome:
        if options["fail_on_divergence"] or len(targets) > 1:
            raise WrongUse("--shrink goes with one bundle, and not with --fail-on-divergence.")
        if wanted.until != "snapshot" or wanted.on_divergence != "stop" or wanted.hunt:
            raise WrongUse(
                "--shrink goes to the first divergence: --until, --on-divergence and --hunt do not go with it."
            )
        with self._bundle_of(targets[0]) as path:
            made = replaying.shrink_path(path, wanted, options["shrink"])
        left = "units" if "units" in made else "members"
        how = " ".join(f"--{name} {value}" for name, value in made["replay_with"].items())
        more = (
            "" if made["smallest"] else f" More of it may be able to go: {made['tried']:,} tries were all it may take."
        )
        text = (
            f"{made['out']}: {made[left]:,} of {made[f'of_{left}']:,} {left} still diverge ({made['bytes']:,} bytes): "
            f"replay it with {how}. {made['sentence']}{more}"
        )
        return Outcome(text, made)

    @contextmanager
    def _bundle_of(self, target: str) -> Iterator[Path]:
        if replaying.is_job_id(target):
            with bundles.bundle(self._job(target).id) as stored:
                yield stored
        elif Path(target).exists():
            yield Path(target)
        else:
            raise Failure(f"{target} is neither a job's id nor a path that exists.")

    def _job(self, target: str) -> Job:
        open_folder()
        job = Job.objects.filter(id=target).first()
        if job is None:
            raise Failure(f"There is no job {target} in this data folder; a path is forced by ./{target}.")
        payloads.note_command(job.id, "replay")
        return job

    def _all(self, targets: list[str], wanted: replaying.Wanted, junit_path: Path | None) -> Outcome:
        """To the end of the list, whatever one of them says: a build server wants to know all."""
        outcomes: dict[str, list[dict[str, Any]]] = {}
        errors: dict[str, str] = {}
        for target in targets:
            try:
                outcomes[target] = self._replays(target, wanted)
            except OPERATING as error:
                errors[target] = str(error)
                self.stderr.write(f"replay: {printable(target)}: {error}")
            except Exception as fault:  # an edge: nothing that goes wrong with one keeps the others from being replayed
                log.exception("the replay of %s failed unexpectedly", printable(target))
                errors[target] = f"The replay failed unexpectedly: {type(fault).__name__}: {fault}."
                self.stderr.write(f"replay: {printable(target)}: {errors[target]}")
        if junit_path is not None:
            junit.write(junit_path, outcomes, errors)
        every = [one for replays in outcomes.values() for one in replays]
        fields = {
            "verdict": replaying.worst(every)["verdict"] if every else None,
            "bundles": outcomes,
            "errors": errors,
        }
        text = "\n".join(_line(target, one) for target, replays in outcomes.items() for one in replays)
        bad = any(not junit.is_good(one) for one in every)
        return Outcome(text, fields, NOT_GOOD if bad else ERROR if errors else GOOD)


def _forks_of(options: dict[str, Any]) -> tuple[At, ...]:
    steps, changes = options["fork"], options["change"]
    if len(steps) != len(changes):
        raise WrongUse("--fork and --change go together: where, and what is otherwise there.")
    if not steps:
        return ()
    if len(steps) > MOST_CHANGES:
        raise WrongUse(f"--fork can be given {MOST_CHANGES} times.")
    if any(options[one] for one in ("fail_on_divergence", "hunt", "shrink")) or options["on_divergence"] != "stop":
        raise WrongUse("--fork does not go with --fail-on-divergence, --on-divergence, --hunt or --shrink.")
    return tuple(_fork_of(step, text) for step, text in zip(steps, changes, strict=True))


def _fork_of(step: int, text: str) -> At:
    if step < 0:
        raise WrongUse("--fork names a step, from 0 on.")
    try:
        return At(step, change_of(json.loads(text)))
    except (ValueError, RecursionError):
        raise WrongUse('--change is JSON, as {"change": "lost"}.') from None
    except WrongSetting as wrong:
        raise WrongUse(str(wrong)) from None


def _look_of(options: dict[str, Any]) -> Look:
    look = Look(options["at"], options["find"])
    if look and any(options[one] for one in ("fail_on_divergence", "hunt", "shrink", "change")):
        raise WrongUse("--at and --find do not go with --fail-on-divergence, --hunt, --shrink or --fork.")
    try:
        look.check()
    except WrongSearch as wrong:
        raise WrongUse(f"--find can't be read. {wrong}") from None
    return look


def _outcome(target: str, replays: list[dict[str, Any]]) -> Outcome:
    worst = replaying.worst(replays)
    fields = worst if len(replays) == 1 else {**worst, "replays": replays}
    status = GOOD if all(map(junit.is_good, replays)) else NOT_GOOD
    return Outcome("\n".join(_line(target, one) for one in replays), fields, status)


def _line(target: str, replay: dict[str, Any]) -> str:
    of = f"attempt {replay['attempt']}" if replay["failure"] is None else f"failure {replay['failure']}"
    hunt = replay["detail"].get("hunt")
    heard = f" {hunt['sentence']}" if hunt else ""
    seen = in_words(replay, replay["steps"])
    told = f"\n{seen}" if seen else ""
    named = printable(target, len(target))
    return f"{named}: {replay['task']}, {of}: {replay['verdict']}. {replay['sentence']}{heard}{told}"
