"""One replay in a child process: the request on standard input, progress and the outcome on standard output."""

from __future__ import annotations

import dataclasses
import logging
import os
import sys
from pathlib import Path
from typing import Any

from ingest.jobs.confined import confine
from ingest.jobs.lifeline import Answers, Command, Teller, log_to_standard_error, only_command
from ingest.jobs.limits import limit_behind, limit_resources, operators_line, use_reserve
from ingest.lake.steps import ParquetStepSink
from ingest.replay_limits import ReplayLimits
from ingest.room import not_written
from replay import live
from replay.bundle.reader import open_bundle
from replay.debugger.replay import replay
from replay.errors import ReplayError, printable

log = logging.getLogger("ingest.replay")


def run(request: Command, answers: Answers, sink: ParquetStepSink) -> None:
    """Writes the steps into the request's folder and sends the outcome."""
    # What only some replays need is loaded by them: all others show their first step sooner.
    if request.get("hunt"):
        from ingest.jobs.hunting.hunted import hunt_beside, report
    if request.get("change") is not None:
        from replay.debugger.forks import chain_of, change_of, fork
    tell = Teller(answers)
    tell("reading", 0, None, "steps", always=True)
    which: dict[str, Any] = {name: request.get(name) for name in ("task", "failure", "attempt", "on_divergence")}
    which["until"] = request.get("until", "snapshot")
    hunt = hunt_beside(sink) if request.get("hunt") else None
    if hunt is not None:
        # All that the operator reads is to be heard, also past what comes of it.
        which |= {"operators": hunt.operator, "on_divergence": "go-on"}
    with open_bundle(request["pack"]) as bundle:
        if request.get("change") is None:
            outcome = replay(bundle, **which, sink=sink, progress=tell)
        else:
            asked = {name: which[name] for name in ("task", "failure", "attempt", "until")}
            change = change_of(request["change"])
            outcome = fork(
                bundle,
                **asked,
                step=request["fork_step"],
                change=change,
                before=chain_of(request.get("before", ())),
                diverged_at=request.get("diverged_at"),
                sink=sink,
                progress=tell,
            )
    tell("sorting", sink.steps, sink.steps, "steps", always=True)
    sink.finish()
    if hunt is not None:
        found = report(hunt, request, outcome, Path(request["log"]), tell)
        outcome = dataclasses.replace(outcome, detail={**outcome.detail, "hunt": found})
    log.info("replay ended after %s steps, %s: %s", sink.steps, outcome.verdict, outcome.sentence)
    answers.send(outcome=outcome.to_json() | {"steps": sink.steps})


def main() -> int:
    answers = Answers()
    live.collect_garbage_rarely()  # before there is a request: a child that waits for one has done it
    log_to_standard_error()
    request = only_command()
    log.info("replay begins: %s", request)
    sink = None
    try:
        limits, sink = ReplayLimits(**request.get("limits", {})), ParquetStepSink(Path(request["folder"]))
        _limited(request, answers, sink, limits)
    except ReplayError as fault:
        log.exception("replay failed")
        answers.send(failed=str(fault))
    except OSError as fault:
        log.exception("replay failed")
        _leave_what_is_readable(sink)
        answers.send(failed=not_written(fault, Path(request["folder"])))
    except Exception as fault:
        log.exception("replay failed unexpectedly")
        answers.send(failed=f"the replay failed: {type(fault).__name__}: {fault}. The log has the whole story.")
    return 0


def _leave_what_is_readable(sink: ParquetStepSink | None) -> None:
    try:
        if sink is not None:
            sink.abandon()
    except OSError:
        log.exception("what is not readable could not be removed")


def _limited(request: Command, answers: Answers, sink: ParquetStepSink, limits: ReplayLimits) -> None:
    """A limit may be reached anywhere, and what tells of it may come wrapped in anything."""

    def last_words(which: str, where: str) -> None:
        log.warning("replay reached its limit of %s%s", which, where)
        try:
            sink.keep()
        except (OSError, MemoryError):
            log.exception("the last steps could not be written")
        reached = f"{limits.reached(which)} after {sink.steps:,} steps{where}"
        answers.send(failed=f"{reached}.")

    def give_up(which: str) -> None:
        use_reserve()
        last_words(which, ", in an operator that lets nothing end it")
        os._exit(0)

    try:
        limit_resources(limits, give_up)
        confine()
        run(request, answers, sink)
    except BaseException as fault:
        which, where = limit_behind(fault), operators_line(fault.__traceback__)
        if which is None and isinstance(fault, Exception):
            raise
        if which is None:  # past whatever the engine catches, as an operator may raise
            log.exception("replay failed")
            sink.keep()
            raised = f"{type(fault).__name__}: {printable(str(fault))}".removesuffix(": ")
            answers.send(failed=f"The replay was ended by {raised} after {sink.steps:,} steps{where}.")
            return
        use_reserve()
        # What filled the memory hangs on the frames that the exception came through.
        link: BaseException | None = fault
        while link is not None:
            link.__traceback__ = None
            link = link.__context__
        last_words(which, where)


if __name__ == "__main__":
    sys.exit(main())
