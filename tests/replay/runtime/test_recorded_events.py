"""Every event that is recorded has all the fields that the format's own page lists for its type."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.replay.debugger.worlds import world_of

PAGE = Path(__file__).resolve().parents[3] / "docs" / "log-format.md"
WORLDS = 40

# Not every event of the type has these: which of the two began it, one blow of several, a wait for a slot, a
# standby that loads, latency where it ends.
CONDITIONAL = {
    "attempt-started": {"failure", "rollback", "diverged", "why"},
    "channel-reconnected": {"diverged"},
    "task-failed": {"together", "how"},
    "task-rescheduled": {"waited_us"},
    "restore-started": {"host"},
    "state-restored": {"host"},
    "metric": {"latency_p50_us", "latency_p99_us"},
}
# Written by recorders of real jobs, which lose something, or answer a retry: the engine never does.
NEVER_HERE = {"gap", "retry-began", "retry-ended", "sync-failed", "outputs-sent"}
HEAD = {"n", "t_us", "type", "at", "attempt", "re", "failure"}


def fields_by_type() -> dict[str, set[str]]:
    section = PAGE.read_text().split("## events.ndjson")[1].split("\n## ")[0]
    found: dict[str, set[str]] = {}
    before: set[str] = set()
    for kind, told in re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", section, re.MULTILINE):
        outside = re.sub(r"\([^)]*\)", "", told)
        before = before if "the same" in outside else set(re.findall(r"`([a-z_0-9]+)`", outside))
        found[kind] = before
    return found


@pytest.fixture(scope="module")
def recorded() -> list[dict[str, object]]:
    found = []
    for seed in range(WORLDS):
        _, members = world_of(seed)
        found += [json.loads(line) for line in members.members["events.ndjson"].splitlines()]
    return found


def test_the_page_lists_the_fields() -> None:
    fields = fields_by_type()
    assert len(fields) >= 29
    assert fields["channel-lost"] == {"channel", "side", "received"}
    assert fields["channel-reconnected"] == {*fields["channel-lost"], "diverged"}
    assert fields["determinants-received"] == {"of", "channel", "to", "result", "logs"}


def test_every_event_has_the_fields_of_its_type(recorded: list[dict[str, object]]) -> None:
    fields = fields_by_type()
    seen = set()
    for event in recorded:
        kind = str(event["type"])
        seen.add(kind)
        wanted = fields[kind] - CONDITIONAL.get(kind, set())
        assert wanted <= event.keys(), f"{event} lacks {wanted - event.keys()}"
        assert event.keys() <= fields[kind] | HEAD, f"{event} has fields that the page does not list"
    assert seen == fields.keys() - NEVER_HERE
