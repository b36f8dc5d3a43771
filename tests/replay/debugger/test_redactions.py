"""What is redacted in a recording is not verifiable: no replay of it is identical, and no comparison says the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from replay.bundle.reader import Bundle
from replay.debugger.replay import replay
from replay.debugger.sides.attempts import Side, compare_attempts
from replay.jobs.options import RecordOptions
from replay.simulation.replays import recorded
from tests.replay.debugger.worlds import Kept, MemoryMembers

OPTIONS = RecordOptions(seed=5, events=400, depth=3, parallelism=2, kills=("map-1.0@150",), checkpoint_interval_ms=100)
TASK = "map-1.0"
TOKEN = {"redacted": "5f2a"}


@pytest.fixture(scope="module")
def members() -> MemoryMembers:
    made = recorded(OPTIONS)
    return MemoryMembers(dict(made.members.members))


def hiding(members: MemoryMembers, **changed: Any) -> Bundle:
    """The same recording, with another manifest."""
    manifest = json.loads(members.members["job.json"])
    return Bundle(members.with_("job.json", json.dumps({**manifest, **changed}).encode()))


def with_token(members: MemoryMembers, name: str) -> MemoryMembers:
    """A line of its own that holds one, where readers of the replay do not look."""
    return MemoryMembers({**members.members, name: json.dumps(TOKEN, separators=(",", ":")).encode() + b"\n"})


@pytest.mark.parametrize("asked", [{"failure": 0}, {"task": TASK, "attempt": 1}], ids=["recovery", "attempt"])
def test_a_replay_of_what_is_redacted_is_not_verifiable(members: MemoryMembers, asked: dict[str, Any]) -> None:
    assert replay(Bundle(members), **asked, sink=Kept()).verdict == "identical"
    kept = Kept()
    outcome = replay(hiding(members, redactions=["customer.email"]), **asked, sink=kept)
    assert outcome.verdict == "unknown" and outcome.exit_status == 3
    assert outcome.sentence.startswith("Not verifiable: customer.email in its values is redacted.")
    assert outcome.detail["redacted"] == "customer.email in its values"
    said = [row.text for row in kept.rows if row.kind == "finish"]
    assert said == [outcome.sentence] and "identical" not in said[0]


def test_a_token_alone_is_enough(members: MemoryMembers) -> None:
    """A bundle whose manifest names no paths, as that of a payload-free recording."""
    extended = {"determinants": "extended"}
    asked: dict[str, Any] = {"task": TASK, "attempt": 1}
    assert replay(hiding(members, **extended), **asked, sink=Kept()).verdict == "identical"
    elsewhere = with_token(members, "tasks/map-1.1/0/notes/0.ndjson")
    assert replay(hiding(elsewhere, **extended), **asked, sink=Kept()).verdict == "identical"
    its_own = with_token(members, f"tasks/{TASK}/0/notes/0.ndjson")
    outcome = replay(hiding(its_own, **extended), **asked, sink=Kept())
    assert outcome.verdict == "unknown" and f"a value in tasks/{TASK}/0/notes/0.ndjson is redacted" in outcome.sentence


def test_a_divergence_may_come_of_what_is_redacted(members: MemoryMembers) -> None:
    name = next(name for name in members.members if name.startswith(f"tasks/{TASK}/1/sent-0/"))
    data = bytearray(members.members[name])
    data[-1] ^= 1
    broken = MemoryMembers({**members.members, name: bytes(data)})
    asked: dict[str, Any] = {"task": TASK, "attempt": 1}
    assert replay(Bundle(broken), **asked, sink=Kept()).verdict == "diverged"
    outcome = replay(hiding(broken, redactions=["*.iban"]), **asked, sink=Kept())
    assert outcome.verdict == "unknown"
    assert "That may be why it differs. What was found:" in outcome.sentence


def test_attempts_side_by_side_are_not_called_the_same(members: MemoryMembers) -> None:
    def compared(source: Bundle) -> dict[str, Any]:
        return compare_attempts(Side(source, TASK, 0, "the one"), Side(Bundle(members), TASK, 0, "the other"))

    whole = compared(Bundle(members))
    assert whole["equal"] is True and "redacted" not in whole
    hidden = compared(hiding(members, redactions=["customer.email"]))
    assert hidden["equal"] is False and hidden["redacted"] == "customer.email in its values"
    assert hidden["sentence"] == (
        "Not verifiable: of the one, customer.email in its values is redacted, and only tokens were compared. "
        "Nothing else differs."
    )
