"""A wrong effect or state, of the machine or of the operator, is caught wherever it is planted."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pytest

from replay.debugger.replay import replay
from replay.jobs.registry import new_operator
from replay.model import Vertex
from replay.recovery import (
    AnswerDeterminants,
    RecoveryManager,
    ReplayInFlight,
    RequestDeterminants,
    RequestReplay,
)
from replay.recovery.effects import Effect
from replay.recovery.events import Event
from replay.runtime.operators import Operator
from tests.replay.debugger.recordings import failing, one_failure
from tests.replay.debugger.worlds import Kept, MemoryMembers, bundle_of

CONNECTED = ("map-1.0@115+map-2.0@115",)
TOLD = (
    "replay-requested", "determinants-requested", "determinants-returned", "recovery-state", "determinants-received",
    "determinants-request-received", "replay-request-received",
)  # fmt: skip
RESULTS = ("held", "failed-too", "beyond-depth")
Line = dict[str, Any]


@lru_cache(maxsize=1)
def connected() -> MemoryMembers:
    return failing(*CONNECTED, depth=5)


def others(field: str, value: Any) -> list[Any]:
    """What may stand there in its place."""
    if field in ("epoch", "skip", "checkpoint"):
        return [value + 1]
    if field == "result":
        return [one for one in RESULTS if one != value]
    if field in ("from", "to"):
        return ["Running" if value == "Replaying" else "Replaying"]
    if field == "of":
        return ["map-2.0" if value == "map-1.0" else "map-1.0"]
    if field == "logs" and value:
        *log, upto = value[0]
        return [[[*log, upto + 1], *value[1:]], [[*log, upto - 1], *value[1:]], value[1:]]
    return []


def planted() -> Iterator[tuple[str, Line, Line]]:
    """Of each kind of event at each task the first two, with every field that says what was done altered."""
    seen: dict[tuple[str, str], int] = {}
    for line in map(json.loads, connected().members["events.ndjson"].splitlines()):
        at = str(line.get("at"))
        seen[line["type"], at] = seen.get((line["type"], at), 0) + 1
        if line["type"] in TOLD and at in ("map-1.0", "map-2.0") and seen[line["type"], at] <= 2:
            for field, value in line.items():
                for n, other in enumerate(others(field, value)):
                    yield f"{line['n']} {line['type']} {field} {n}", line, {**line, field: other}


PLANTED = list(planted())


@pytest.mark.parametrize(("line", "other"), [one[1:] for one in PLANTED], ids=[one[0] for one in PLANTED])
def test_whatever_an_event_says_that_was_done_is_held_against_what_the_manager_does(line: Line, other: Line) -> None:
    lines = [json.loads(one) for one in connected().members["events.ndjson"].splitlines()]
    changed = [other if one == line else one for one in lines]
    data = b"".join(json.dumps(one, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" for one in changed)
    kept = Kept()
    outcome = replay(bundle_of(connected().with_("events.ndjson", data)), failure=0, sink=kept)
    assert outcome.verdict == "diverged", outcome.sentence
    assert kept.kinds["diverge"] >= 1
    assert any(str(line["n"]) in text or line["type"] in text or "events.ndjson" in text
               for text in (outcome.sentence, json.dumps(outcome.detail))), outcome.sentence  # fmt: skip


def test_each_kind_of_event_was_altered() -> None:
    assert {line["type"] for _, line, _ in PLANTED} == set(TOLD)


def without(effect: Effect) -> tuple[Effect, ...]:
    return ()


def twice(effect: Effect) -> tuple[Effect, ...]:
    return effect, effect


def elsewhere(effect: Effect) -> tuple[Effect, ...]:
    match effect:
        case RequestReplay(_, epoch) | RequestDeterminants(_, _, epoch):
            return (dataclasses.replace(effect, epoch=epoch + 1),)
        case AnswerDeterminants(result=result):
            return (dataclasses.replace(effect, result="failed-too" if result == "held" else "held"),)
        case _:
            return ()


@pytest.mark.parametrize("change", [without, twice, elsewhere])
@pytest.mark.parametrize("kind", [RequestReplay, RequestDeterminants, AnswerDeterminants])
def test_a_manager_that_asks_for_something_else_than_the_live_one_is_caught(
    kind: type[Effect], change: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle, changed = RecoveryManager.handle, list[Effect]()

    def other(self: RecoveryManager, event: Event) -> tuple[Effect, ...]:
        done: list[Effect] = []
        for effect in handle(self, event):
            if isinstance(effect, kind) and not changed:
                changed.append(effect)
                done += change(effect)
            else:
                done.append(effect)
        return tuple(done)

    monkeypatch.setattr(RecoveryManager, "handle", other)
    outcome = replay(bundle_of(connected()), failure=0)
    assert changed and outcome.verdict == "diverged", outcome.sentence


def test_buffers_that_a_manager_does_not_send_again_are_missing_from_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes out again is written as steps of its own, from what the recording has in its in-flight log."""
    whole, kept = Kept(), Kept()
    replay(bundle_of(connected()), failure=0, sink=whole)
    handle = RecoveryManager.handle

    def other(self: RecoveryManager, event: Event) -> tuple[Effect, ...]:
        return tuple(one for one in handle(self, event) if not isinstance(one, ReplayInFlight))

    monkeypatch.setattr(RecoveryManager, "handle", other)
    replay(bundle_of(connected()), failure=0, sink=kept)
    again = [row for row in whole.rows if "from the in-flight log" in row.text]
    assert again and not [row for row in kept.rows if "from the in-flight log" in row.text]


@pytest.mark.parametrize("key", ["records", "by_key"])
def test_a_state_that_is_not_the_acknowledged_snapshot_is_named_with_its_member(key: str) -> None:
    members = one_failure()
    names = sorted(name for name in members.members if name.startswith("tasks/map-1.0/1/state/"))
    state = json.loads(members.members[names[0]])
    operator = state["operator"]
    operator[key] = operator[key] + 1 if key == "records" else [[*operator[key][0][:-1], 999], *operator[key][1:]]
    data = json.dumps(state, separators=(",", ":"), ensure_ascii=False).encode()
    outcome = replay(bundle_of(members.with_(names[0], data)), failure=0)
    assert outcome.verdict == "diverged" and outcome.detail["member"] == names[0], outcome.sentence
    assert key in json.dumps(outcome.detail), outcome.detail


def test_an_operator_whose_state_goes_another_way_is_caught_at_its_next_snapshot() -> None:
    def operators(vertex: Vertex) -> Operator:
        kind = type(new_operator(vertex))

        class Twice(kind):  # type: ignore[misc, valid-type]
            """Gives what the real one gives, and counts one too many from the fourth record on."""

            calls = 0

            def changed(self) -> None:
                return None

            def on_record(self, record: Any, context: Any) -> None:
                self.calls += 1
                super().on_record(record, context)

            def snapshot(self) -> dict[str, Any]:
                made = super().snapshot()
                return {**made, "records": made["records"] + (self.calls > 3)} if "records" in made else made

        return Twice()  # type: ignore[no-any-return]

    kept = Kept()
    outcome = replay(bundle_of(one_failure()), failure=0, sink=kept, operators=operators)
    assert outcome.verdict == "diverged", outcome.sentence
    assert "records" in json.dumps(outcome.detail) and "state" in str(outcome.detail["member"]), outcome.detail
    assert [row.kind for row in kept.rows].index("diverge") > [row.kind for row in kept.rows].index("snapshot")
