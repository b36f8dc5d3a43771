"""Each event of a recording is missed when it is taken out, or may as well never have been: never both."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from replay.debugger.agreeing.relays import check_relays
from replay.debugger.agreeing.struck import check_struck
from replay.debugger.outcome import DivergenceFound
from replay.debugger.recorded.story import Story
from tests.replay.debugger.diverging.every_event import (
    each_taken_out,
    events_of,
    found_in,
    is_missed,
    taken_out,
    without,
)
from tests.replay.debugger.diverging.further_plants import recording_of
from tests.replay.debugger.recordings import failing, one_failure
from tests.replay.debugger.worlds import MemoryMembers, bundle_of

RECORDINGS: dict[str, Callable[[], MemoryMembers]] = {
    "a failure": lambda: one_failure(sink="transactional"),
    "a sink's failure": lambda: one_failure(task="sink.0", sink="idempotent"),
    "two failures that are connected": lambda: failing("map-1.0@90", "map-2.0@95"),
    "a rollback": lambda: one_failure(protocol="coordinated"),
    "a gap": lambda: one_failure(protocol="none"),
}


@pytest.mark.parametrize("name", RECORDINGS)
def test_an_event_that_is_taken_out_is_missed_just_where_it_must_have_been(name: str) -> None:
    """Why it may be missing is looked for in the undamaged recording, by other means than those of the debugger."""
    members = RECORDINGS[name]()
    assert not is_missed(members)
    for event, missed, why in each_taken_out(members):
        assert missed == (why is None), (event, why)


PASSED_OVER_BEFORE = (
    (41003, "epoch-aborted"), (41004, "epoch-precommitted"), (41004, "channel-lost"), (41005, "epoch-aborted"),
    (41006, "epoch-committed"), (41009, "recovery-state"),
)  # fmt: skip


@pytest.mark.parametrize(("seed", "kind"), PASSED_OVER_BEFORE)
def test_what_no_other_event_tells_is_told_by_what_was_done(seed: int, kind: str) -> None:
    """Of random command lines: what a sink left open, buffers that did not go out, a recovery without a log."""
    members = recording_of(seed)
    assert members is not None
    numbers = [event["n"] for event in events_of(members) if event["type"] == kind]
    assert numbers
    for number in numbers:
        assert is_missed(without(members, number)), f"seed {seed}: event {number}"


TOLD_BY = (
    (52000, 18, "was to be struck"), (52000, 21, "was never sent"), (52019, 91, "brings the last of the answers"),
    (8830003, 241, "asked for determinants over"), (8830012, 159, "has all 23 bytes that were returned"),
    (8830015, 100, "with which that input waits"), (8840003, 73, "it is asked for what it holds"),
    (8840004, 158, "both that live notice it together"), (92000, 124, "by highest.0>sink.1 says that what it asked"),
    (92006, 73, "below the task for which it was"), (92014, 62, "or such an event is missing"),
    (94002, 13, "which it need not load"), (94002, 29, "which it need not load"),
    (94003, 221, "it is asked for what it holds of join.1"), (97001, 44, "passes a request for the logs of bids.0 on"),
)  # fmt: skip


@pytest.mark.parametrize(("seed", "number", "words"), TOLD_BY)
def test_an_event_that_is_missed_is_named_by_what_tells_of_it(seed: int, number: int, words: str) -> None:
    """The command line, a buffer that never went out, answers, logs, barriers and other ends: each tells of one."""
    members = recording_of(seed)
    assert members is not None
    sentence = found_in(without(members, number))
    assert words in sentence, f"seed {seed}, event {events_of(members)[number]}: {sentence}"


def test_who_was_killed_was_to_be_struck_by_the_command() -> None:
    """As often as it says; what it says of a state of a recovery counts once that is entered."""
    members = failing("map-1.0@115", kills_in=("map-1.0:Running",))
    check_struck(bundle_of(members))
    failed, again = (event for event in events_of(members) if event["type"] == "task-failed")
    entered = again["n"] - 1
    assert events_of(members)[entered]["to"] == "Running"
    with pytest.raises(DivergenceFound, match=f"Event {again['n'] - 1}: .*2 times.* recovery-state of it to Running"):
        check_struck(bundle_of(without(members, entered)))
    for gone in (failed, again):
        with pytest.raises(DivergenceFound, match="task-failed events it was killed 1 time: one is missing"):
            check_struck(bundle_of(without(members, gone["n"])))
    manifest = members.members["job.json"]
    unasked = members.with_("job.json", manifest.replace(b" --kill map-1.0@115", b""))
    with pytest.raises(DivergenceFound, match=f"Event {failed['n']}: .* was to be struck 0 times"):
        check_struck(bundle_of(unasked))


UNTOLD = (
    (52007, 10), (52019, 85), (52019, 92), (52015, 108), (52015, 131), (8830020, 184), (8830029, 268), (8840014, 34),
    (94002, 14), (94003, 83),
)  # fmt: skip
"""Another heard of the failure first; nothing was sent for what was asked; it was too late; it waited on; its channel
was lost."""
TOLD = ((52001, 26), (52010, 107), (52011, 117), (8830001, 41), (8840005, 27), (92003, 49), (94002, 29))
"""Somebody did something after a rollback, or his log tells of it, though his attempt ended soon after."""


@pytest.mark.parametrize(
    ("seed", "number", "untold"), [(*one, True) for one in UNTOLD] + [(*one, False) for one in TOLD]
)
def test_who_ended_may_not_have_been_told_where_nothing_else_tells(seed: int, number: int, untold: bool) -> None:
    members = recording_of(seed)
    assert members is not None
    event, missed, why = taken_out(members, events_of(members)[number])
    assert (missed, why is None) == (not untold, not untold), (event, why)


def test_who_recovered_need_not_have_been_told_to_let_a_checkpoint_go() -> None:
    members = recording_of(1200246)
    assert members is not None and not is_missed(members)


def test_a_checkpoint_let_go_is_missed_where_no_log_tells_of_it() -> None:
    """But by who failed himself: he is told when he is back, and may have been told before."""
    members = recording_of(41001)
    assert members is not None
    told = [event for event in events_of(members) if event["type"] == "checkpoint-ignored" and not event["attempt"]]
    assert len(told) > 5
    for event in told:
        assert is_missed(without(members, event["n"])), event


@pytest.mark.parametrize("complete", [True, False])
def test_an_answer_that_is_to_be_passed_on_may_come_next_where_a_recording_still_grows(complete: bool) -> None:
    members, last = recording_of(97001), 60
    events = events_of(members)
    assert events[last]["type"] == "determinants-received" and events[last]["of"] != events[last]["at"]
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in events if one["n"] <= last)
    manifest = {**json.loads(members.read("job.json")), "complete": complete}
    cut = members.with_("events.ndjson", lines).with_("job.json", json.dumps(manifest).encode())
    bundle = bundle_of(cut)
    story = Story.read(bundle.events())
    if complete:
        with pytest.raises(DivergenceFound, match="must stand here"):
            check_relays(bundle, story)
    else:
        check_relays(bundle, story)
