"""Steps of tasks with timers, watermarks, seeds and calls: each has its sentence, its cause and what it changed."""

from __future__ import annotations

import json
import re

import pytest

from replay.bundle.reader import Bundle
from replay.debugger.replay import replay
from replay.debugger.writing.words import said
from replay.log.determinants import Determinant, Rng, Serializable, TimerTrigger
from tests.replay.debugger.worlds import Kept, MemoryMembers
from tests.replay.debugger.writing.test_steps import CAUSE, KINDS
from tests.replay.runtime import eventful


def recorded(**services: str) -> MemoryMembers:
    return eventful.recording_of(*eventful.engine_of(eventful.manifest(services=services), seed=5, records=60))


def changed(members: MemoryMembers, before: bytes, after: bytes) -> MemoryMembers:
    """Every log and every delta says otherwise, so that nothing but an execution finds out."""
    assert len(before) == len(after)
    for name in members.names("tasks/"):
        if name.endswith((".det", ".dlt")):
            members = members.with_(name, members.members[name].replace(before, after))
    return members


@pytest.fixture(scope="module")
def members() -> MemoryMembers:
    return recorded(time="periodic:3", random="seed")


def steps_of(members: MemoryMembers, task: str) -> Kept:
    kept = Kept()
    with eventful.registered():
        outcome = replay(Bundle(members), task=task, attempt=0, sink=kept)
    assert outcome.verdict == "identical", outcome.sentence
    return kept


@pytest.fixture(scope="module")
def operator(members: MemoryMembers) -> Kept:
    return steps_of(members, "one.0")


@pytest.fixture(scope="module")
def source(members: MemoryMembers) -> Kept:
    return steps_of(members, "source.0")


def test_every_step_has_a_known_kind_one_sentence_and_an_earlier_cause(operator: Kept, source: Kept) -> None:
    for kept in (operator, source):
        assert {row.kind for row in kept.rows} <= KINDS
        assert all(row.text.endswith((".", "}.")) and "None" not in row.text for row in kept.rows)
        causes: dict[int, list[str]] = {}
        for step, cause in kept.causes:
            found = CAUSE.fullmatch(cause)
            assert found is not None and (not found["step"] or int(found["step"]) < step), cause
            causes.setdefault(step, []).append(cause)
        without = [row.text for row in kept.rows if row.step not in causes and row.kind != "restore"]
        assert not without, without[:3]


def test_a_timers_steps_follow_from_what_fired_it(operator: Kept) -> None:
    by_step = {row.step: row for row in operator.rows}
    causes = {(step, cause) for step, cause in operator.causes}
    ran = [row for row in operator.rows if row.text.startswith("Runs the timer 'soon'")]
    assert ran
    for row in ran:
        fired = [by_step[int(cause[5:])] for step, cause in causes if step == row.step]
        assert [one.kind for one in fired] == ["fire-async"]
        at_ms = re.search(r"set for (\d+)", fired[0].text)
        assert at_ms is not None and f"set for {at_ms[1]}." in row.text
        written = by_step[row.step + 1]
        assert written.kind == "write-record" and (written.step, f"step:{row.step}") in causes


def test_an_event_time_timer_follows_from_its_watermark(operator: Kept) -> None:
    by_step = {row.step: row for row in operator.rows}
    ran = [row for row in operator.rows if row.text.startswith("Runs the timer 'late'")]
    assert ran
    for row in ran:
        (cause,) = [cause for step, cause in operator.causes if step == row.step]
        watermark = by_step[int(cause[5:])]
        come = re.search(r"event time has come to (\d+) at source\.\d", watermark.text)
        at_ms = re.search(r"set for event time (\d+)\.", row.text)
        assert watermark.text.startswith("Processes a watermark as element ") and come is not None
        assert at_ms is not None


def test_the_first_steps_of_an_epoch_are_the_time_and_the_seed(operator: Kept) -> None:
    for epoch in {row.epoch for row in operator.rows}:
        taken = [row.text for row in operator.rows if row.epoch == epoch and row.actor == "main" and row.log]
        first, second = [text for text in taken if text.startswith("The log says")][:2]
        assert "the clock read " in first and "was seeded with " in second, (first, second)


def test_changes_of_the_state_stand_at_what_made_them(operator: Kept) -> None:
    kinds = {row.step: row.text.split(" ")[1] for row in operator.rows}
    state = operator.state_at_the_end()
    timers = [step for step, _, key, _, _ in operator.changes if key == "seen" and kinds[step] == "the"]
    assert timers, "a timer's count changes at the timer's step"
    assert json.loads(state["seen"])[0] == sum(row.text.startswith("Processes record") for row in operator.rows)
    assert int(state["watermark_ms"]) > 0


def test_a_source_says_when_it_is_idle_and_who_is_behind_a_watermark(source: Kept) -> None:
    texts = [row.text for row in source.rows]
    assert any("the timer idle set for" in text for text in texts)
    assert any("the timer periodic-watermark-extractor set for" in text for text in texts)
    assert any(text.startswith('Writes a watermark to output 0 (one.0): {"watermark":1') for text in texts)


CALL = {"call": "external", "name": "lookup", "effect": "read"}


@pytest.mark.parametrize(
    ("determinant", "seeded", "sentence"),
    [
        (TimerTrigger(3, 70, "internal:soon"), False, "the timer internal:soon set for 70 fired at record 3"),
        (Rng(5), False, "the random generator gave 5"),
        (Rng(5), True, "the random generator was seeded with 5"),
        (Serializable.of(3, json.dumps({**CALL, "value": [1]}).encode()), False, "the call lookup gave [1]"),
        (
            Serializable.of(3, json.dumps({**CALL, "raised": {"type": "Gone", "message": "no"}}).encode()),
            False,
            "the call lookup raised Gone: no",
        ),
        (
            Serializable.of(3, json.dumps({**CALL, "effect": "write", "value": None}).encode()),
            False,
            "the call lookup, which changes something there, gave null",
        ),
        (Serializable.of(3, b'{"call":"time_ns","site":4,"value":8}'), False, "the call time_ns gave 8"),
        (Serializable.of(3, b"[1,"), False, "an external call gave 3 bytes"),
        (Serializable.of(3, b'{"call":"env","value":"a\\u0000b"}'), False, 'the call env gave "a\\u0000b"'),
        (Serializable(b"\xac\xed\x00\x05xy"), False, "an external call gave 6 bytes"),
    ],
)
def test_what_a_determinant_says(determinant: Determinant, seeded: bool, sentence: str) -> None:
    assert said(determinant, seeded=seeded) == sentence


def test_a_timer_that_was_never_set_is_a_divergence(members: MemoryMembers) -> None:
    kept = Kept()
    with eventful.registered():
        outcome = replay(Bundle(changed(members, b"soon", b"noon")), task="one.0", attempt=0, sink=kept)
    assert outcome.verdict == "diverged"
    assert "no timer internal:noon" in outcome.sentence and "which is not set" in outcome.sentence
    assert kept.rows[-1].kind == "diverge"


def test_an_answer_to_another_call_is_a_divergence() -> None:
    members = changed(recorded(time="call", random="call"), b'"name":"lookup"', b'"name":"search"')
    with eventful.registered():
        outcome = replay(Bundle(members), task="one.0", attempt=0, sink=Kept())
    assert outcome.verdict == "diverged"
    assert "asks for the external call 'lookup' with effect" in outcome.sentence
