"""Faults planted into recordings: what is gone leaves a recovery undecided, what is otherwise is found."""

from __future__ import annotations

from typing import Any

import pytest

from replay.bundle.frames import HELD_BACK, BufferFrame, read_buffers
from replay.guarantees.recovery_types import recovery_types
from replay.model import json_bytes, read_json
from tests.replay.debugger.recordings import failing
from tests.replay.debugger.worlds import MemoryMembers, bundle_of


def first(members: MemoryMembers) -> dict[str, Any]:
    found: dict[str, Any] = recovery_types(bundle_of(members)).numbers["failures"][0]
    return found


@pytest.mark.parametrize(
    ("kill", "around", "settings"),
    [
        ("map-1.0@115", ("map-1.0", "map-2.0"), {}),
        ("sink.0@115", ("sink.0",), {}),
        ("source.0@115", ("source.0", "map-1.0"), {"sharing_depth": 0}),
        ("map-1.0@115", ("map-1.0", "map-2.0"), {"sharing_depth": 0}),
    ],
)
def test_without_a_member_it_is_what_it_was_or_undecided(kill: str, around: tuple[str, ...], settings: Any) -> None:
    members = failing(kill, **settings)
    whole, undecided = first(members)["type"], 0
    assert whole != "undecided"
    for name in sorted(members.members):
        if name.startswith(tuple(f"tasks/{task}/" for task in around)):
            found = first(members.without(name))
            assert found["type"] in (whole, "undecided"), f"without {name}: {found['sentence']}"
            undecided += found["type"] == "undecided"
    assert undecided


def changed(members: MemoryMembers, name: str, epoch: int, flags: int) -> MemoryMembers:
    """One letter of a record in the first buffer with those flags."""
    frames = [frame for _, frame in read_buffers(members.members[name], epoch=epoch)]
    at = next(n for n, frame in enumerate(frames) if frame.flags == flags and b'"amount":' in frame.payload)
    one = frames[at]
    payload = one.payload.replace(b'"amount":', b'"amoumt":', 1)
    frames[at] = BufferFrame(one.seq, one.t_us, one.flags, one.epoch, one.main_epoch, one.main_offset, payload)
    return members.with_(name, b"".join(frame.to_bytes() for frame in frames))


def test_a_buffer_that_was_rebuilt_otherwise_is_found() -> None:
    members = failing("map-1.0@115")
    assert first(members)["type"] == "precise"
    names = [name for name in members.members if name.startswith("tasks/map-1.0/1/sent-0/") and name.endswith(".buf")]
    epoch = int(names[0].rpartition("/")[2].removesuffix(".buf"))
    found = first(changed(members, names[0], epoch, HELD_BACK))
    assert found["type"] == "convergent" and found["differs"] == 1  # its log leads to the same state


def test_a_record_that_a_sink_gives_otherwise_the_second_time_is_found() -> None:
    members = failing("sink.0@115")
    assert first(members)["type"] == "repeating"
    (name,) = [name for name in members.members if name == "tasks/sink.0/1/sink/1.ndjson"]
    lines = members.members[name].splitlines()
    line = read_json(lines[0])
    lines[0] = json_bytes({**line, "record": [*line["record"][:2], {**line["record"][2], "amount": -1}]})
    found = first(members.with_(name, b"\n".join(lines) + b"\n"))
    assert found["type"] == "rollback" and "otherwise" in found["sentence"]


def test_a_write_of_one_id_that_comes_again_is_no_duplicate_unless_it_says_something_else() -> None:
    members = failing("sink.0@190", sink="idempotent", checkpoint_interval_ms=40)
    assert first(members)["type"] == "precise"


def test_states_of_one_checkpoint_tell_whether_it_converges() -> None:
    members = failing("map-1.0@115", sharing_depth=0)
    assert first(members)["type"] == "rollback"
    last = max(int(name.rpartition("/")[2].removesuffix(".json")) for name in members.members
               if name.startswith("tasks/map-1.0/1/state/"))  # fmt: skip
    # As if the attempt before had come to that barrier, with what it took.
    state = {**read_json(members.members[f"tasks/map-1.0/1/state/{last}.json"]), "inputs": {}}
    old = f"tasks/map-1.0/0/state/{last}.json"
    assert first(members.with_(old, json_bytes(state)))["type"] == "convergent"
    other = {**state, "operator": {"records": 0, "by_key": []}}
    assert first(members.with_(old, json_bytes(other)))["type"] == "divergent"


def test_without_events_nothing_is_called_free_of_failures() -> None:
    section = recovery_types(bundle_of(failing("map-1.0@115").without("events.ndjson")))
    assert (section.verdict, section.good) == ("undecided", None)
    assert any(lack.wants.startswith("events.ndjson") for lack in section.lacks)


@pytest.mark.parametrize("kill", ["map-1.0@115", "sink.0@115"])
def test_of_a_recording_that_goes_on_it_is_said_what_it_shows_so_far(kill: str) -> None:
    members = failing(kill)
    raw = {**bundle_of(members).manifest.to_json(), "complete": False}
    found = first(members.with_("job.json", json_bytes(raw)))
    assert found["type"] == "undecided" and first(members)["type"] in found["sentence"]
