"""What a recording lacks is named, the verdict is unknown, and what can be walked is walked."""

from __future__ import annotations

import json
from random import Random

import pytest

from replay.debugger.agreeing.lacking import first_lack
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.errors import ReplayError
from replay.simulation.commands import random_options
from replay.simulation.replays import recorded
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import Kept, MemoryMembers, alone, bundle_of, world_of


def without(*parts: str) -> MemoryMembers:
    return one_failure().without(*parts)


@pytest.mark.parametrize(
    "members, lacks",
    [
        (without("source.0/0/sent-", "source.1/0/sent-"), "source.0"),
        (without("map-1.0/0/state/", "map-1.0/1/state/"), "snapshot of checkpoint 1"),
        (without("map-1.0/0/main/", "map-1.0/0/out-0/"), "map-1.0/0/"),
        (without("map-1.0/0/sent-", "map-1.0/1/sent-"), "map-1.0"),
        (without(".rcv", ".dlt"), ".dlt"),
        (without("/source/"), "source.0/0/source/0.ndjson"),
        (without(".buf"), ".buf"),
        (without("/main/"), "/main/"),
        (without("map-1.0/0/out-0/"), "map-1.0/0/out-0/"),
        (without("map-1.0/0/received-0/", "map-1.0/1/received-0/"), "received-0/"),
        (without("map-1.0/0/sent-0/"), "map-1.0/0/sent-0/"),
    ],
    ids=[
        "inputs",
        "snapshot",
        "logs",
        "outputs",
        "deltas",
        "records",
        "buffers",
        "main-logs",
        "output-log",
        "receipts",
        "sent",
    ],
)
def test_what_is_missing_is_named(members: MemoryMembers, lacks: str) -> None:
    kept = Kept()
    outcome = replay(bundle_of(members), failure=0, sink=kept)
    assert (outcome.verdict, outcome.exit_status) == ("unknown", 3), outcome.sentence
    assert lacks in outcome.sentence and "lacks" in outcome.sentence
    assert {row.state for row in kept.rows} >= {"Standby", "WaitingConnections", "WaitingDeterminants"}
    assert kept.rows[-1].kind == "finish" and kept.rows[-1].text == outcome.sentence


@pytest.mark.parametrize("seed", range(40))
def test_of_a_whole_recording_nothing_is_gone(seed: int) -> None:
    _, members = world_of(seed)
    assert first_lack(bundle_of(members)) is None


@pytest.mark.parametrize("seed", range(0, 30, 3))
def test_any_one_member_that_is_gone_contradicts_nothing(seed: int) -> None:
    """The verdict may stay what it was; it is never that the recording contradicts itself."""
    world, members = world_of(seed)
    failures = list(Story.read(bundle_of(members).events()).failures)[:1]
    for failure in failures if world.manifest.protocol.sharing_depth != 0 else ():
        whole = alone(bundle_of(members), failure).verdict
        names = [name for name in members.names("tasks/") if members.size(name) and not name.endswith(".rcv")]
        for name in Random(f"gone {seed}").sample(names, min(12, len(names))):
            outcome = alone(bundle_of(members.without(name)), failure)
            assert outcome.verdict in (whole, "unknown"), f"{name}: {outcome.sentence} {world.reproduce_with}"
            if outcome.verdict == "unknown" != whole:
                assert "lacks" in outcome.sentence


# Seeds that showed a divergence where something was only gone, and what it was.
GONE_BEFORE = {
    0: "what was left with a stable storage, or given to the outside, in an epoch between",
    27: "the main log of a source, of which only its barriers tell",
    62: "the first epoch of a sink's receipts and main log",
    120: "the first main log of a sink",
    148: "the receipts of an epoch in which nothing was written",
    176: "all that a source read and logged before it sent anything",
    192: "receipts between two of one sender",
}


@pytest.mark.parametrize("seed", sorted({*range(28), *GONE_BEFORE}))
def test_whatever_is_gone_of_any_jobs_recording_contradicts_nothing(seed: int) -> None:
    """Members, folders, and all of a kind: what is left never says that it contradicts itself."""
    options = random_options(seed)
    bundle = recorded(options)
    draw = Random(f"gone {seed}")
    names = [name for name in bundle.members.names("tasks/") if bundle.members.size(name)]
    failure = draw.choice(sorted(Story.read(bundle.events()).failures))
    whole = replay(bundle, failure=failure)
    near = [name for name in names if name.startswith(f"tasks/{whole.task}/")] or names
    for _ in range(8 if seed in GONE_BEFORE else 4):
        gone = _gone(draw, names, draw.choice((near, near, names)))
        left = MemoryMembers({name: bundle.members.read(name) for name in bundle.members.names() if name not in gone})
        outcome = replay(bundle_of(left), failure=failure)
        where = f"without {sorted(gone)}: {outcome.sentence} {options.command()}"
        assert outcome.verdict in (whole.verdict, "unknown"), where


@pytest.mark.parametrize(
    "seed, failure, gone, verdict",
    [
        (276, 2, "tasks/sink.1/0/sink/", "unknown"),
        (276, 2, "tasks/count.1/0/sent-1/", "unknown"),
        (269, 2, "tasks/source.1/0/sent-1/", "free"),
        (299, 0, "tasks/sink.0/0/received-2/6.rcv", "unknown"),
        (50053, 1, "tasks/select.0/0/received-0/1.rcv", "unknown"),
        (50053, 1, "tasks/select.1/1/received-1/2.rcv", "unknown"),
        (50065, 1, "tasks/map-2.0/1/received-1/1.rcv", "unknown"),
        (50128, 1, "tasks/count.0/0/received-0/", "unknown"),
        (50180, 1, "tasks/auctions.0/0/received-0/0.rcv", "unknown"),
        (50693, 1, "tasks/sink.0/0/world/0.dlt", "unknown"),
        (50765, 0, "tasks/map-1.0/0/world/1.dlt", "unknown"),
    ],
    ids=[
        "writes of a sink that left determinants outside",
        "buffers",
        "a source's buffers",
        "receipts after a gap",
        "receipts of the last epoch, which the log goes on with",
        "the receipt of a barrier that was passed",
        "receipts of one of several senders",
        "all receipts of the only input",
        "the receipts of deltas that were returned",
        "what was left outside and returned from there",
        "what was left with a stable storage and returned",
    ],
)
def test_what_is_gone_of_recoveries_that_replay_together_is_told(
    seed: int, failure: int, gone: str, verdict: str
) -> None:
    bundle = recorded(random_options(seed))
    names = list(bundle.members.names())
    left = {name: bundle.members.read(name) for name in names if not name.startswith(gone)}
    assert len(left) < len(names)
    outcome = replay(bundle_of(MemoryMembers(left)), failure=failure)
    assert outcome.verdict == verdict, outcome.sentence
    assert gone in str(outcome.to_json())


def test_the_first_buffers_are_missed_where_the_log_that_names_them_is_gone_as_well() -> None:
    bundle = recorded(random_options(50556))
    gone = {"tasks/source.0/1/out-1/0.det", "tasks/source.0/1/sent-1/0.buf"}
    left = {name: bundle.members.read(name) for name in bundle.members.names() if name not in gone}
    outcome = replay(bundle_of(MemoryMembers(left)), failure=0)
    assert outcome.verdict == "unknown" and outcome.detail["lacks"] in gone, outcome.sentence


def _gone(draw: Random, names: list[str], pool: list[str]) -> set[str]:
    one = draw.choice(pool)
    folder, task, suffix = one.rpartition("/")[0], one.split("/")[1], one.rpartition(".")[2]
    which = draw.randrange(4)
    if which == 0:
        return {name for name in names if name.startswith(f"{folder}/")}
    if which == 1:
        return {name for name in names if name.startswith(f"tasks/{task}/") and name.endswith(suffix)}
    return set(draw.sample(pool, min(len(pool), draw.choice((1, 1, 2, 3)))))


def with_operator(name: str) -> MemoryMembers:
    members = one_failure()
    manifest = json.loads(members.members["job.json"])
    for vertex in manifest["vertices"]:
        vertex["operator"] = name
    return members.with_("job.json", json.dumps(manifest).encode())


@pytest.mark.parametrize(
    "members", [with_operator("somebody.jobs:Theirs"), without("source.0/0/sent-", "source.1/0/sent-")]
)
def test_without_operator_or_inputs_state_machine_and_determinants_are_walked(members: MemoryMembers) -> None:
    kept = Kept()
    outcome = replay(bundle_of(members), failure=0, sink=kept)
    assert outcome.verdict == "unknown"
    assert [row.state for row in kept.rows if row.kind == "transition"][-1] == "Running"
    whole = replay(bundle_of(one_failure()), failure=0, until="running", sink=(identical := Kept()))
    assert whole.verdict == "identical"
    logged = [(row.log, row.log_offset) for row in identical.rows if row.kind in ("take-determinant", "fire-async")]
    walked = [(row.log, row.log_offset) for row in kept.rows if row.kind in ("take-determinant", "fire-async")]
    assert sorted(walked, key=str) == sorted(logged, key=str), "every returned determinant, once"


def test_an_operator_from_a_recording_is_never_imported() -> None:
    outcome = replay(bundle_of(with_operator("os:system")), failure=0)
    assert outcome.verdict == "unknown" and "os:system" in outcome.sentence


@pytest.mark.parametrize(
    "asked, why",
    [
        ({"task": "nobody.0"}, "no task nobody.0"),
        ({"failure": 7}, "no failure 7"),
        ({"task": "sink.0"}, "sink.0 never failed"),
        ({"task": "sink.0", "failure": 0}, "failure 0 is of map-1.0 and not of sink.0"),
        ({"task": "map-1.0", "attempt": 9}, "no attempt 9"),
        ({"attempt": 0}, "no task"),
    ],
)
def test_what_was_asked_for_and_is_not_there_is_said(asked: dict[str, object], why: str) -> None:
    with pytest.raises(ReplayError, match=why):
        replay(bundle_of(one_failure()), **asked)  # type: ignore[arg-type]


def test_a_recording_without_events_has_no_failure_to_replay() -> None:
    with pytest.raises(ReplayError, match="nothing failed in this recording"):
        replay(bundle_of(without("events.ndjson")))


def test_at_sharing_depth_zero_the_new_execution_is_free() -> None:
    outcome = replay(bundle_of(one_failure(sharing_depth=0)), failure=0)
    assert (outcome.verdict, outcome.exit_status) == ("free", 0)
    assert "tasks below it may depend" in outcome.sentence and "nobody depends" not in outcome.sentence
    again = replay(bundle_of(one_failure(sharing_depth=0)), task="map-1.0", attempt=0)
    assert again.verdict == "unknown" and "at sharing depth 0 nothing is logged" in again.sentence


@pytest.mark.parametrize("number", [1 << 40, (1 << 63) - 1])
@pytest.mark.parametrize("kind", ["task-failed", "attempt-started"])
def test_attempts_are_not_counted_through_to_a_number_that_only_an_event_names(kind: str, number: int) -> None:
    """The replay ends at once, whatever number a recording gives an attempt."""
    events = [json.loads(line) for line in one_failure().members["events.ndjson"].splitlines()]
    for event in events:
        if event["type"] == kind and event.get("failure") == 0:
            event["attempt"] = number
    lines = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    outcome = replay(bundle_of(one_failure().with_("events.ndjson", lines)), failure=0)
    assert outcome.verdict in ("unknown", "diverged"), outcome.sentence


def test_determinants_that_came_back_though_nobody_asks_are_a_contradiction() -> None:
    members = one_failure()
    manifest = json.loads(members.members["job.json"])
    manifest["protocol"]["sharing_depth"] = 0
    outcome = replay(bundle_of(members.with_("job.json", json.dumps(manifest).encode())), failure=0)
    assert outcome.verdict == "diverged" and "sharing depth 0" in outcome.sentence


def test_a_new_execution_of_a_sink_is_free_but_not_without_a_trace() -> None:
    outcome = replay(bundle_of(one_failure(task="sink.0")), failure=0)
    assert outcome.verdict == "free"
    assert "may give again" in outcome.sentence and "nobody depends" not in outcome.sentence


@pytest.mark.parametrize(("sink", "said"), [("transactional", "never committed"), ("idempotent", "a log of its own")])
def test_what_an_exactly_once_sink_wrote_before_is_not_said_to_come_again(sink: str, said: str) -> None:
    outcome = replay(bundle_of(one_failure(task="sink.0", sink=sink)), failure=0)
    assert outcome.verdict == "free"
    assert said in outcome.sentence and "may give again" not in outcome.sentence


def test_the_protocol_is_named_where_it_keeps_no_logs() -> None:
    members = one_failure(protocol="none")
    assert ", as the protocol none logs nothing:" in replay(bundle_of(members), failure=0).sentence
    own = replay(bundle_of(members), task="map-1.0", attempt=0)
    assert own.verdict == "unknown" and "(the protocol none logs nothing)" in own.sentence


def test_the_recovery_of_another_protocol_is_unknown_and_never_called_identical():
    members = one_failure()
    manifest = json.loads(members.members["job.json"])
    manifest["protocol"]["name"] = "drifting"
    outcome = replay(bundle_of(members.with_("job.json", json.dumps(manifest).encode())), failure=0)
    assert outcome.verdict == "unknown"
    assert "the protocol drifting" in outcome.sentence


@pytest.mark.parametrize("seed", [880074, 880103, 880241, 880376, 880386, *range(20)])
def test_a_whole_recording_lacks_nothing(seed: int) -> None:
    """Also where a task goes back and never comes to the same barriers again, and where answers are relayed."""
    options = random_options(seed)
    lack = first_lack(recorded(options))
    assert lack is None, f"{lack} {options.command()}"
