"""Corruptions of all kinds in recordings of random command lines; a whole recording contradicts itself nowhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from replay.debugger.agreeing.connections import check_connections
from replay.debugger.agreeing.contradictions import contradiction_anywhere
from replay.debugger.outcome import DivergenceFound
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.simulation.commands import random_options
from replay.simulation.replays import recorded
from tests.replay.debugger.diverging.further_plants import planted_in_any
from tests.replay.debugger.diverging.plants import EVENTS, judged, verdict_of
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import bundle_of

UNNOTICED_BEFORE = (
    250001, 250002, 250028, 250031, 250038, 250083, 250093, 250095, 250100, 250119, 250131, 250153, 250154,
    900057, 900344, 300015, 300031, 300032, 300034, 300094, 300150, 300187, 300210, 300211, 300213, 300221, 300223,
)  # fmt: skip
NAMED_ROUGHLY_BEFORE = (250032, 250033, 250060, 250064, 250067, 250108, 250122, 250147, 250148)
NOT_DECIDABLE = {
    250012: "no choices are logged, so what the source read is not processed again",
    300053: "no choices are logged, and what was changed in the record is a number as good as another",
    300181: "the record is one that its source sends to nobody",
    300190: "a buffer may have been taken some microseconds later, as long as it is before the next",
    300220: "the attempt that lost the channel was ended before it came back, and may never have been told",
    250116: "two tasks ignored one checkpoint, each by itself: either may have been the first",
}
"""By seed. Nothing else in those recordings depends on what was changed."""


@pytest.mark.parametrize("seed", [*UNNOTICED_BEFORE, *NAMED_ROUGHLY_BEFORE, *NOT_DECIDABLE])
def test_a_corruption_in_any_jobs_recording_is_named_where_it_is(seed: int) -> None:
    plant = planted_in_any(seed)
    assert plant is not None
    outcome, sentence = verdict_of(plant)
    how = judged(plant, outcome, sentence)
    expected = "not noticed" if seed in NOT_DECIDABLE else "precisely"
    assert how == expected, f"seed {seed}: {plant.kind} in {plant.member}, {plant.start} to {plant.end}: {sentence}"


@pytest.mark.parametrize(
    "field, value",
    [("received", -1), ("bytes", -1), ("channel", "a\n\u202e\0>b"), ("host", "\x1b[2J"), ("host", "x" * 300_000)],
    ids=lambda one: str(one)[:12].encode().hex(),
)
def test_what_a_recording_says_is_quoted_without_control_characters_and_in_short(field: str, value: object) -> None:
    members = one_failure()
    events = [json.loads(line) for line in members.members[EVENTS].splitlines()]
    changed = next(one["n"] for one in events if field in one and one.get("re") is not None)
    events[changed][field] = value
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in events)
    outcome = replay(bundle_of(members.with_(EVENTS, lines)), failure=0)
    assert outcome.verdict == "diverged" and outcome.sentence.isprintable(), outcome.sentence
    assert len(outcome.sentence) < 1200
    assert outcome.detail["event"] >= changed


def test_a_channel_comes_back_to_whoever_lost_it() -> None:
    members = one_failure()
    events = [json.loads(line) for line in members.members[EVENTS].splitlines()]
    back = next(one for one in events if one["type"] == "channel-reconnected" and one["attempt"] == 0)
    del events[_lost(events, back)]
    for number, event in enumerate(events):
        event["n"] = number
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in events)
    source = bundle_of(members.with_(EVENTS, lines))
    with pytest.raises(DivergenceFound, match="channel-lost between the two is missing") as raised:
        check_connections(source)
    assert raised.value.detail["event"] == back["n"] and raised.value.detail["channel"] == back["channel"]


def _lost(events: list[dict[str, Any]], back: dict[str, Any]) -> int:
    where = [back[name] for name in ("at", "attempt", "channel")]
    lost = (one["n"] for one in events if one["type"] == "channel-lost")
    return next(n for n in lost if [events[n][name] for name in ("at", "attempt", "channel")] == where)


@pytest.mark.parametrize("seed", range(14))
def test_a_whole_recording_contradicts_itself_nowhere(seed: int) -> None:
    options = random_options(seed)
    bundle = recorded(options)
    found = contradiction_anywhere(bundle, Story.read(bundle.events()))
    assert found is None, f"{found} {options.command()}"
