"""The steps themselves: numbered, caused, telling what changed, and in sentences."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from replay.debugger.outcome import Cancelled
from replay.debugger.replay import replay
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import Kept, bundle_of

KINDS = {
    "transition", "request", "answer", "merge", "restore", "take-buffer", "deliver-record", "take-determinant",
    "fire-async", "append", "write-record", "cut-buffer", "hold-back", "send-buffer", "snapshot", "finish", "diverge",
}  # fmt: skip
CAUSE = re.compile(
    r"step:(?P<step>\d+)"
    r"|det:(?P<task>[\w.-]+)/(?P<attempt>\d+)/(?P<thread>main|out-\d+)/(?P<epoch>\d+)#(?P<seq>\d+)"
    r"|delta:(?P<channel>[\w.>-]+)#(?P<buffer>\d+)/(?P<of>[\w.-]+)/(main|out-\d+)"
    r"|event:(?P<event>\d+)"
)


@pytest.fixture(scope="module")
def kept() -> Kept:
    kept = Kept()
    assert replay(bundle_of(one_failure()), failure=0, sink=kept).verdict == "identical"
    return kept


@pytest.fixture(scope="module")
def recovered() -> Kept:
    """Up to where the new attempt makes its own choices."""
    kept = Kept()
    assert replay(bundle_of(one_failure()), failure=0, until="running", sink=kept).verdict == "identical"
    return kept


def test_every_step_has_a_known_kind_a_place_and_one_sentence(kept: Kept) -> None:
    assert {row.kind for row in kept.rows} <= KINDS
    for row in kept.rows:
        assert row.task == "map-1.0" and row.actor in ("main", "out-0", "out-1")
        begins_with_a_task = re.match(r"(source|map-\d|sink)\.\d ", row.text)
        assert row.text.endswith(".") and (row.text[0].isupper() or begins_with_a_task), row.text
    times = [row.t_us for row in kept.rows]
    assert times == sorted(times)
    assert [row.step for row in kept.rows] == list(range(len(kept.rows)))


def test_every_determinant_taken_is_told_in_fields_too(kept: Kept) -> None:
    bundle = bundle_of(one_failure())
    named = {step: CAUSE.fullmatch(cause) for step, cause in kept.causes if cause.startswith("det:")}
    takes = [row.step for row in kept.rows if row.kind in ("take-determinant", "fire-async")]
    assert [row[0] for row in kept.determinants] == takes
    for step, task, kind, value, name in kept.determinants:
        found = named[step]
        assert found is not None and (task, name) == (found["task"], None)
        log = list(bundle.determinants(task, int(found["attempt"]), found["thread"], int(found["epoch"])))
        _, _, determinant = log[int(found["seq"])]
        assert kind == determinant.kind
        fields = {"order": "channel", "timestamp": "value", "rng": "value", "buffer-built": "buffer_bytes"}
        assert value == getattr(determinant, fields[kind])


def test_causes_lead_back_to_the_recording(kept: Kept) -> None:
    bundle = bundle_of(one_failure())
    events = {event["n"]: event for event in bundle.events()}
    causes: dict[int, list[str]] = {}
    for step, cause in kept.causes:
        found = CAUSE.fullmatch(cause)
        assert found is not None, cause
        causes.setdefault(step, []).append(cause)
        if found["step"]:
            assert int(found["step"]) < step, "a cause comes before what it causes"
        elif found["event"]:
            assert int(found["event"]) in events
        elif found["seq"]:
            log = list(bundle.determinants(found["task"], int(found["attempt"]), found["thread"], int(found["epoch"])))
            assert int(found["seq"]) < len(log)
        else:
            sent = {frame.seq for a in (0, 1) for frame in bundle.sendings("map-1.0", a, 0)}
            assert int(found["buffer"]) in sent
    caused = [row for row in kept.rows if row.step not in causes]
    assert not caused, f"without a cause: {Counter(row.kind for row in caused)}"

    def reaches_the_recording(step: int) -> bool:
        seen, waiting = set(), [step]
        while waiting:
            one = waiting.pop()
            for cause in causes.get(one, ()):
                if not cause.startswith("step:"):
                    return True
                if (before := int(cause[5:])) not in seen:
                    seen.add(before)
                    waiting.append(before)
        return False

    assert all(reaches_the_recording(row.step) for row in kept.rows)


def test_a_determinants_step_names_the_determinant_and_the_delta_that_brought_it(recovered: Kept) -> None:
    bundle = bundle_of(one_failure())
    by_step: dict[int, list[str]] = {}
    for step, cause in recovered.causes:
        by_step.setdefault(step, []).append(cause)
    for row in recovered.rows:
        if row.kind not in ("take-determinant", "fire-async"):
            continue
        named = CAUSE.fullmatch(next(c for c in by_step[row.step] if c.startswith("det:")))
        assert named is not None
        log = list(bundle.determinants("map-1.0", int(named["attempt"]), named["thread"], int(named["epoch"])))
        assert log[int(named["seq"])][0] == row.log_offset and named["thread"] == row.log == row.actor
        assert any(cause.startswith("delta:map-1.0>") for cause in by_step[row.step])


def test_steps_of_a_record_add_up(recovered: Kept) -> None:
    kinds = recovered.kinds
    assert kinds["deliver-record"] == kinds["write-record"] > 50
    assert kinds["cut-buffer"] == kinds["hold-back"] == len(recovered.buffers)
    mains = sum(row.kind in ("take-determinant", "fire-async") and row.actor == "main" for row in recovered.rows)
    assert kinds["append"] == mains
    order = [row for row in recovered.rows if row.kind == "take-buffer" and "The log says" in row.text]
    assert order and all(re.search(r"channel \d \(source\.\d\): buffer \d+, [\d,]+ bytes?, ", r.text) for r in order)
    assert all(row.text.endswith(", as the first execution took it.") for row in order)


def test_the_state_at_the_end_is_that_of_the_operator(kept: Kept) -> None:
    state = kept.state_at_the_end()
    restored = json.loads(one_failure().members["tasks/map-1.0/0/state/1.json"])["operator"]["records"]
    assert int(state["records"]) == restored + kept.kinds["deliver-record"]
    assert sum(int(v) for k, v in state.items() if k.startswith("by_key[")) == int(state["records"])


def test_the_ledger_of_buffers_says_what_was_received_before(recovered: Kept) -> None:
    bundle = bundle_of(one_failure())
    received = {(r.sender_attempt, r.seq) for r in bundle.receipts("map-2.0", 0, 0)}
    for _, task, channel, seq, size, was_received, matches in recovered.buffers:
        assert (task, channel, matches) == ("map-1.0", "map-1.0>map-2.0", True) and size > 0
        assert was_received is ((0, seq) in received)


def test_the_first_steps_are_flushed_early(kept: Kept) -> None:
    assert kept.flushes >= 2


def test_a_cancelled_replay_stops() -> None:
    with pytest.raises(Cancelled):
        replay(bundle_of(one_failure()), failure=0, sink=Kept(), cancelled=lambda: True)


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int | None, str]] = []
    replay(bundle_of(one_failure()), failure=0, progress=lambda *one: told.append(one))
    assert told and [done for _, done, _, _ in told] == sorted(done for _, done, _, _ in told)


def test_a_replay_is_the_same_every_time(kept: Kept) -> None:
    again = Kept()
    replay(bundle_of(one_failure()), failure=0, sink=again)
    assert (again.rows, again.causes, again.changes) == (kept.rows, kept.causes, kept.changes)


def test_a_divergence_is_a_step_with_its_place() -> None:
    members = one_failure()
    name = "tasks/map-1.0/0/sent-0/1.buf"
    data = bytearray(members.members[name])
    data[60] ^= 4
    kept = Kept()
    outcome = replay(bundle_of(members.with_(name, bytes(data))), failure=0, sink=kept)
    assert outcome.verdict == "diverged" and kept.rows[-1].kind == "diverge"
    assert kept.rows[-1].text == outcome.sentence and kept.rows[-1].channel == "map-1.0>map-2.0"
    assert outcome.detail["asked"] != outcome.detail["logged"]


@pytest.mark.parametrize("at", [60, 1500, 3000])
def test_the_ledger_holds_the_buffer_that_differs(kept: Kept, at: int) -> None:
    members = one_failure()
    name = "tasks/map-1.0/0/sent-0/1.buf"
    data = bytearray(members.members[name])
    data[at] ^= 4
    damaged = Kept()
    outcome = replay(bundle_of(members.with_(name, bytes(data))), failure=0, sink=damaged)
    assert outcome.verdict == "diverged" and outcome.detail["member"] == name
    *before, (step, task, channel, seq, size, was_received, matches) = damaged.buffers
    assert (task, channel, seq) == ("map-1.0", "map-1.0>map-2.0", outcome.detail["buffer"]) and matches is False
    assert before == kept.buffers[: len(before)]
    assert (task, channel, seq, size, was_received) == kept.buffers[len(before)][1:6]
    row = damaged.rows[step]
    assert (row.kind, row.buffer, row.bytes) == ("hold-back", seq, size) and "differs from the one" in row.text
    assert damaged.rows[step + 1].kind == "diverge" == damaged.rows[-1].kind
    assert (step + 1, f"step:{step}") in damaged.causes
