"""What the section on recoverability says, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from replay.errors import printable
from replay.guarantees.recoverability.course import Course
from replay.guarantees.recoverability.port import Lost, Place, Swept
from replay.model import WORLD, Protocol

ANY = "any failures"
SOME = "some failures"
ORPHANED = "orphaned"
UNDECIDED = "undecided"

INCOMPLETE = "The recording is not complete: what was held and depended on afterwards is not in it."
NO_LIVES = "No event tells when attempts began and ended, so all are taken to have lived from beginning to end."
NO_HOSTS = "Not every attempt's host is told, so nothing is said about failures of hosts."
WAITED = "Writes waited for the storage. When they were made is not recorded, nor what they follow from."
HIDES_DEPENDENCE = (".rcv", ".buf", "the rest of the recording", "in events.ndjson")
HIDES_HOLDERS = (".dlt", "deltas")
"""What is wanted where somebody may depend on more, or hold more, than is seen."""
UNKNOWN_PROTOCOL = "Whether sent buffers are kept under this protocol is not known."

_WHO = {
    "task": ("task", "tasks", "another task"),
    "host": ("host", "hosts", "a task elsewhere"),
    "task_or_world": ("task", "tasks", "another task or the outside"),
    "host_or_world": ("host", "hosts", "a task elsewhere or the outside"),
}


class Said(NamedTuple):
    """As a claim says it."""

    verdict: str
    sentence: str
    evidence: tuple[str, ...] = ()


def unlogged(protocol: Protocol) -> tuple[str, str, bool | None]:
    """Where nothing is logged to be returned."""
    if protocol.observed:
        return (
            "nothing is shared",
            "The engine was only observed: no task holds choices of another one, and none is asked for them. What it "
            "keeps is its checkpoints; what could return the choices is this recording.",
            None,
        )
    if protocol.name == "coordinated":
        return (
            "all go back",
            "Nothing is logged: whichever task fails, all tasks go back to the last completed checkpoint, so no "
            "survivor follows from what is lost. The outside may.",
            None,
        )
    return (
        "nothing is logged",
        "Nothing is logged, so what a task chose since its last checkpoint is gone with it: the failure of any one "
        "task orphans whoever took a buffer from it.",
        False,
    )


def verdict(smallest: int | None, numbers: Mapping[str, Any], *, orphaned: bool) -> tuple[str, str]:
    """In one word, and one sentence."""
    if orphaned:
        lost = {one["dependent"] for one in numbers["lost"]} - {WORLD}
        return ORPHANED, f"Choices that others followed from were lost: {_listed(lost)} went on as orphans."
    if smallest is None:
        return ANY, "At every moment, whatever set of tasks had failed, no survivor would have been orphaned."
    if smallest == 0:
        return (
            SOME,
            "At its worst moment a task that was down already left another one orphaned until it went back, too.",
        )
    what = _times(smallest, "task")
    return SOME, f"At its worst moment the failure of {what} would have orphaned another: it stood any {smallest - 1}."


def claimed(key: str, smallest: int | None, shown: Mapping[str, Any] | None) -> Said:
    """Of one way of counting."""
    one, many, whom = _WHO[key]
    if smallest is None:
        return Said("holds", f"No set of {many} that fails, at any moment, orphans {whom}.")
    if not shown:
        return Said("broken", f"The smallest set of {many} that orphans {whom}: {smallest}.")
    who = _listed({each["task"] for each in shown["dependents"]})
    have = _listed({each["task"] for each in shown["holders"]} - {WORLD}) or "nobody who lived"
    sentence = (
        f"The smallest set that orphans {whom} is of {_times(smallest, one)}. First at {shown['at_us']:,} µs: byte "
        f"{shown['offset']:,} of {shown['log']} was held by {have}, and {who} followed from it without holding it."
    )
    return Said("broken", sentence, tuple(shown["evidence"]))


def fallout(t_us: int, failed: list[str], dependents: list[str], *, before: bool) -> str:
    """Of a set that somebody asks about."""
    dependents = _people(dependents)
    those = f"Had {_listed(printable(one) for one in failed)} failed at {t_us / 1000:,.3f} ms, "
    if not dependents:
        return (
            f"{those}everybody left would have held, or could have asked somebody left for, all that he follows from."
        )
    if before:
        return f"{_listed(dependents)} followed from lost choices at {t_us / 1000:,.3f} ms already, whoever fails then."
    return f"{those}{_listed(dependents)} would have followed from choices that nobody left has."


def _people(names: list[str]) -> list[str]:
    return ["the outside" if one == WORLD else one for one in names]


def left_without(place: Place, first: int, upto: int, dependents: list[str], *, already: bool) -> str:
    """Of one log."""
    who = _listed(_people(dependents))
    what = f"bytes {first:,} to {upto - 1:,} of {place.thread}, epoch {place.epoch}, of {place.task}"
    if already:
        return f"{who} had been left with {what} before, which nobody will make again."
    return f"{who} would be left with {what}, which nobody else has."


def orphaned(one: Lost) -> str:
    """Somebody was left with what is lost."""
    who = "the outside" if one.dependent == WORLD else f"{one.dependent}, attempt {one.dependent_attempt},"
    return (
        f"Attempt {one.attempt} of {one.place.task} went on at {one.t_us:,} µs with {one.returned:,} bytes of "
        f"{one.place.thread}, epoch {one.place.epoch}, and {who} followed from {one.upto}."
    )


def evidence_of(one: Lost, course: Course) -> list[str]:
    """The place in the log from where on it is lost, and the failure before it."""
    found = [f"log:{one.place.task}/{max(one.attempt - 1, 0)}/{one.place.thread}/{one.place.epoch}@{one.returned}"]
    failures = [each for each in course.failures if each.get("task") == one.place.task and each["t_us"] <= one.t_us]
    return [*found, *(f"event:{each['n']}" for each in failures[-1:])]


def lost(one: Lost) -> dict[str, Any]:
    """As numbers hold it."""
    return {
        "log": f"{one.place.task}/{max(one.attempt - 1, 0)}/{one.place.thread}/{one.place.epoch}",
        "at_us": one.t_us,
        "returned": one.returned,
        "upto": one.upto,
        "dependent": one.dependent,
        "attempt": max(one.dependent_attempt, 0),
    }


def beyond(found: Mapping[str, Any], swept: Swept) -> Said:
    """Of property 2.4, whether more is logged than must be; that it stops eventually no recording can prove."""
    if not found["most_bytes"]:
        return Said("holds", "Nothing was held by a task that did not follow from it.")
    left = found["at_the_end_bytes"]
    return Said(
        "beyond",
        f"At the ends of {len(swept.surplus)} equal stretches of time, up to {found['most_bytes']} bytes were held by "
        f"tasks that did not follow from them (yet), {left} at the last one: deltas are held from when they arrive.",
    )


def contents(found: Mapping[str, Any]) -> tuple[str, str]:
    """Whether what was taken can be sent again."""
    if found["in_flight"] is None:
        return "undecided", "Whether messages can be sent again is not known."
    if not found["in_flight"]:
        return (
            "broken",
            "Sent buffers are not kept: what a failed task had taken since its checkpoint is not sent again.",
        )
    if found["not_replayable"]:
        return "undecided", f"Messages are rebuilt from the sources up, and of {_listed(found['not_replayable'])} " + (
            "no records are there."
        )
    referred = [task for task, read in found["sources"].items() if read == "references"]
    kept = f", of {_listed(referred)} as long as what is referred to is kept" if referred else ""
    return (
        "holds",
        f"Whoever fails: what was sent is in a sender's in-flight log, or is rebuilt from the sources{kept}.",
    )


def fault(why: str) -> str:
    """A delta that could not be followed."""
    return f"A delta could not be followed, so more may have been held than is counted: {printable(why)}"


def gap(channel: str) -> str:
    """Members that belong together, of which some are missing."""
    return (
        f"Of {channel} buffers, sendings and receipts do not all stand in the recording: what came by it is not known."
    )


def unseen(count: int, *, safe: bool) -> str:
    """An answer that nobody can be sure of."""
    seen = "orphans nobody" if safe else "could orphan somebody"
    return f"What was seen {seen}, but {count} parts of the recording are missing that could show otherwise."


def uncertain(t_us: int) -> str:
    """The outside may follow from more."""
    return (
        f"From {t_us} us on the outside may also follow from what a sink chose between taking a buffer and a write "
        f"that came of it: where its log stood at the write is not recorded."
    )


def not_told(task: str, attempt: int) -> str:
    """A recovery whose answers are not there."""
    return (
        f"What attempt {attempt} of {task} was given of its log is not recorded: whether it left orphans is not known."
    )


def no_records(task: str) -> str:
    """A source without its records."""
    return f"{task} cut buffers, and what it read is not in the recording: whether it can be read again is not known."


def inexact(depth: int, *, at_least: bool) -> str:
    """Another depth that can't be told exactly."""
    if at_least:
        return f"At depth {depth} tasks would have held at least what they depend on; how much more is not known."
    return f"At depth {depth} only part of some logs would have come, as ways of several lengths lead there."


def _times(count: int, one: str) -> str:
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def _listed(names: Any) -> str:
    some = sorted(names)
    if len(some) > 4:
        return f"{', '.join(some[:4])} and {len(some) - 4} more"
    return f"{', '.join(some[:-1])} and {some[-1]}" if len(some) > 1 else "".join(some)
