"""Replays from the command line of recordings whose events can't be read to their end."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.replaying import Wanted, replay_path
from replay.errors import ReplayError
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import MemoryMembers

EVENTS = "events.ndjson"


def written(members: MemoryMembers, folder: Path) -> Path:
    for name, data in members.members.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def test_events_that_are_torn_behind_a_failure_are_a_verdict_and_no_error(tmp_path: Path) -> None:
    members = one_failure(events=120)
    lines = members.members[EVENTS].splitlines(keepends=True)
    behind = next(n for n, line in enumerate(lines) if b'"task-failed"' in line) + 3
    torn = members.with_(EVENTS, b"".join(lines[:behind]) + lines[behind][:20])
    (outcome,) = replay_path(written(torn, tmp_path), Wanted())
    assert outcome["verdict"] == "diverged" and "can't be read to their end" in outcome["sentence"]


def test_where_no_failure_can_be_read_that_is_said(tmp_path: Path) -> None:
    members = one_failure(events=120).with_(EVENTS, b"\xff\n")
    with pytest.raises(ReplayError, match=r"nothing fails: events\.ndjson at offset 0: this is not JSON"):
        replay_path(written(members, tmp_path), Wanted())


def test_a_task_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder = written(one_failure(events=120), tmp_path)
    with pytest.raises(ReplayError, match=r"no task nope\.0\. Its tasks are"):
        replay_path(folder, Wanted(task="nope.0"))
    with pytest.raises(ReplayError, match=r"no failure of sink\.0\. Name an attempt"):
        replay_path(folder, Wanted(task="sink.0"))
