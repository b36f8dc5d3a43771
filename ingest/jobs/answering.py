"""A child that is asked one thing and gives one answer: its limits, its guard, and what it says where it fails."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

from ingest.jobs.confined import confine
from ingest.jobs.lifeline import Answers, Command, Teller, log_to_standard_error, only_command
from ingest.jobs.limits import limit_behind, limit_resources, use_reserve
from ingest.replay_limits import ReplayLimits
from replay.errors import ReplayError

log = logging.getLogger("ingest.answering")


def _why(fault: ReplayError) -> dict[str, Any]:
    return {"failed": str(fault)}


def answer(
    what: str,
    run: Callable[[Command], dict[str, Any]],
    *,
    remedy: str = "",
    refused: Callable[[ReplayError], dict[str, Any]] = _why,
) -> int:
    """Sends what `run` returns for the one command. `remedy` is said where a limit ends it: what has no such limit."""
    return answer_telling(what, lambda request, _: run(request), remedy=remedy, refused=refused)


def answer_telling(
    what: str,
    run: Callable[[Command, Teller], dict[str, Any]],
    *,
    remedy: str = "",
    refused: Callable[[ReplayError], dict[str, Any]] = _why,
) -> int:
    """The same, of what tells how far it is."""
    answers = Answers()
    log_to_standard_error()
    request = only_command()
    log.info("%s begins: %s", what, request)
    limits = ReplayLimits(**request["limits"])

    def at_limit(which: str) -> None:
        use_reserve()
        answers.send(failed=" ".join(filter(None, (f"{limits.reached(which, what)}.", remedy))))

    def give_up(which: str) -> None:
        at_limit(which)
        os._exit(0)

    try:
        limit_resources(limits, give_up)
        confine()
        answers.send(outcome=run(request, Teller(answers)))
    except ReplayError as fault:
        answers.send(**refused(fault))
    except BaseException as fault:
        log.exception("%s failed", what)
        which = limit_behind(fault)
        if which is not None:
            at_limit(which)
        else:
            use_reserve()
            answers.send(failed=f"{what} failed: {type(fault).__name__}. The log has the whole story.")
    return 0
