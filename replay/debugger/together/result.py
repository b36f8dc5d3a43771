"""What several recoveries come to together: the worst verdict, and each one's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from replay.debugger.outcome import Outcome, Verdict
from replay.debugger.together.exchange import Attempt
from replay.debugger.writing.words import listed

WORST_FIRST: tuple[Verdict, ...] = ("diverged", "unknown", "free", "identical")
_NAMED = 8
_ADDED_UP = ("log_bytes", "buffers", "snapshots")


def outcome_of(lead: Attempt, failure: int | None, ended: Sequence[tuple[Outcome, int]]) -> Outcome:
    """Of the parts as they ended, each with how many steps are its own. `steps` is left to who counts them all."""
    parts = [outcome for outcome, _ in ended]
    worst = min(parts, key=lambda one: WORST_FIRST.index(one.verdict))
    task, attempt = lead
    detail = {"tasks": [{**one.to_json(), "steps": steps} for one, steps in ended], **_sums(parts)}
    if worst.exit_status:
        detail |= worst.detail
    return Outcome(worst.verdict, _sentence(parts, worst), task, attempt, failure, 0, detail)


def _sums(parts: Sequence[Outcome]) -> dict[str, Any]:
    return {
        name: sum(one.detail[name] for one in parts if isinstance(one.detail.get(name), int))
        for name in _ADDED_UP
        if any(name in one.detail for one in parts)
    }


def _sentence(parts: Sequence[Outcome], worst: Outcome) -> str:
    by_verdict = {one: [part.task for part in parts if part.verdict == one] for one in WORST_FIRST}
    if len(parts) == len(by_verdict[worst.verdict]):
        said = f"The recoveries of {_names(by_verdict[worst.verdict])} replay together, and each is {worst.verdict}."
    else:
        each = [f"{_are(tasks)} {verdict}" for verdict, tasks in by_verdict.items() if tasks]
        said = f"{len(parts)} recoveries replay together: {listed(each)}."
    return f"{said} {worst.sentence}" if worst.exit_status else said


def _are(tasks: list[str]) -> str:
    return f"{_names(tasks)} {'is' if len(tasks) == 1 else 'are'}"


def _names(tasks: list[str]) -> str:
    """Not more of them than a sentence can hold."""
    return listed(tasks if len(tasks) <= _NAMED else [*tasks[: _NAMED - 1], f"{len(tasks) - _NAMED + 1} more"])
