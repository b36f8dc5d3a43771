"""Definitions 5 to 8 on recordings: what consumers were given, against runs without failures."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

import pytest

from replay.bundle.reader import Bundle
from replay.guarantees.formal import formal
from replay.guarantees.formal.modelled_task import NotModelled
from replay.guarantees.formal.on_recording import definitions
from replay.guarantees.formal.recorded_job import RecordedJob, as_given, model_of
from replay.guarantees.formal.searching import Search
from replay.model import TaskId
from tests.replay.debugger.recordings import failing
from tests.replay.debugger.worlds import MemoryMembers, bundle_of
from tests.replay.guarantees.formal.agreement import beside

SMALL: dict[str, Any] = {"job": "concat", "depth": None, "rate_per_s": 200.0, "parallelism": 2}


def letters(*kills: str, events: int = 8, **options: Any) -> MemoryMembers:
    """Letters of two sources, put one behind the other by two tasks, given out by two sinks."""
    return failing(*kills, **SMALL, events=events, **options)


@pytest.mark.parametrize(
    "options", [{}, {"protocol": "pessimistic"}, {"protocol": "coordinated", "sink": "transactional"}]
)
def test_what_a_recovery_binds_or_commits_can_be_had_without_failures(options: dict[str, Any]) -> None:
    found = definitions(bundle_of(failing("concat.0@115", job="concat", depth=None, **options)))
    assert found.holds is True and found.how.startswith("proved by the run that the last attempts form")


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("options", [{"protocol": "coordinated"}, {"sharing_depth": 0}])
def test_what_is_given_twice_and_otherwise_is_had_by_no_run_without_failures(
    seed: int, options: dict[str, Any]
) -> None:
    bundle = bundle_of(letters("concat.0@60", seed=seed, **options))
    found = definitions(bundle)
    assert found.holds is False and found.how.startswith("refuted by exhausting ")
    section = formal(bundle)
    assert (section.verdict, section.good) == ("contradicted", False)
    assert found.against is not None and found.against.evidence.partition(":")[2] in section.sentence
    claim = next(one for one in section.claims if one.verdict == "refuted")
    assert claim.evidence == (found.against.evidence,)


def test_be_that_became_de_is_found_among_what_was_given() -> None:
    """As in Table II: a text in which the letter before is another one."""
    job = model_of(bundle_of(letters("concat.0@60", events=12)))
    assert Search(job).run().holds is True
    sink, at = next(
        (sink, at)
        for sink, those in job.given.items()
        for at, one in enumerate(those)
        if len(one.line["record"][2]["text"]) == 2
    )
    one = job.given[sink][at]
    key, timestamp, value = one.line["record"]
    job.given[sink][at] = one._replace(line={"record": [key, timestamp, {"text": "~" + value["text"][1]}]})
    found = Search(job).run()
    assert found.holds is False and found.against is not None
    assert (found.against.task, found.against.number) == (sink, one.number)


def _a_text_of_two(members: MemoryMembers) -> tuple[str, int, list[dict[str, Any]]]:
    for name, data in members.members.items():
        lines = [json.loads(line) for line in data.splitlines()] if "/sink/" in name else []
        for at, line in enumerate(lines):
            if len(line["record"][2]["text"]) == 2:
                return name, at, lines
    raise AssertionError("no text of two letters")


@pytest.mark.parametrize("seed", range(1, 9))
def test_the_search_finds_a_run_where_one_without_any_short_cut_does(seed: int) -> None:
    protocol = ("none", "coordinated", "clonos", "none")[seed % 4]
    job = model_of(bundle_of(letters("concat.0@40", seed=seed, events=5, protocol=protocol)))
    assert Search(job).run().holds is by_every_move(job), seed


def by_every_move(job: RecordedJob) -> bool:
    """Any source may go on, any task take from any input, any sink keep what it has: each move by itself."""
    graph = job.source.graph
    expected = {task: [as_given(one) for one in those] for task, those in job.given.items()}
    start: Any = (
        tuple((task, job.tasks[task].initial) for task in graph.order),
        tuple((channel.id, ()) for channel in graph.channels),
        tuple((task, 0) for task in job.inputs),
        tuple((task, 0) for task in expected),
    )
    known: set[Any] = {start}
    waiting: deque[Any] = deque([start])
    while waiting:
        state = waiting.popleft()
        states, queues, entered, matched = (dict(part) for part in state)
        if all(matched[task] == len(those) for task, those in expected.items()):
            return True
        moves: list[tuple[TaskId, str | None]] = [(task, None) for task in job.inputs]
        moves += [(channel.target, channel.id) for channel in graph.channels if queues[channel.id]]
        for task, channel_id in moves:
            taken: Any
            if channel_id is None:
                at = entered[task]
                if at == len(job.inputs[task]) or not _has_left(job, matched, job.inputs[task][at].t_us):
                    continue
                record, origin, taken = job.inputs[task][at].record, "", queues
                gone = entered | {task: at + 1}
            else:
                record, *rest = queues[channel_id]
                origin, gone = graph.task(graph.channel(channel_id).source).vertex, entered
                taken = queues | {channel_id: tuple(rest)}
            after, sent, written = job.tasks[task].step(states[task], origin, record)
            for body in sent:
                for k in job.tasks[task].edges().of(body):
                    name = graph.task(task).outputs[k].channel
                    taken = taken | {name: (*taken[name], body)}
            left = dict(matched)
            if written:
                if left.get(task, 0) >= len(expected.get(task, [])) or written != (expected[task][left[task]],):
                    continue
                left[task] += 1
            following = tuple(tuple(part.items()) for part in (states | {task: after}, taken, gone, left))
            if following not in known:
                known.add(following)
                waiting.append(following)
    return False


def _has_left(job: RecordedJob, matched: dict[Any, int], t_us: int) -> bool:
    return all((one.seen_us or 0) >= t_us for task, those in job.given.items() for one in those[matched[task] :])


def test_a_recording_that_is_not_whole_refutes_nothing() -> None:
    members = letters("concat.0@60", seed=1, protocol="coordinated")
    manifest = json.loads(members.members["job.json"]) | {"complete": False}
    found = definitions(bundle_of(members.with_("job.json", json.dumps(manifest).encode())))
    assert found.holds is None and found.how.startswith("not all is recorded")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "map-1.0 asks for the time"),
        ({"job": "enrich", "depth": None}, "enrich.0 asks the outside"),
        ({"job": "nexmark-q5", "depth": None}, "count.0 follows event time"),
        ({"time": "ingestion"}, "source.0 stamps what it reads with the time"),
    ],
)
def test_what_does_not_follow_from_records_is_not_decided_and_says_why(options: dict[str, Any], why: str) -> None:
    bundle = bundle_of(failing(**options))
    assert definitions(bundle).why == why
    section = formal(bundle)
    assert any(why in one.sentence for one in section.lacks)


def test_records_of_a_source_that_are_not_there_refute_nothing() -> None:
    members = letters().without("tasks/source.0/0/source/")
    with pytest.raises(NotModelled, match=r"^source\.0 makes something else of its records"):
        model_of(Bundle(members))


def test_an_operator_that_does_otherwise_now_refutes_nothing() -> None:
    members = letters()
    name = next(one for one in members.members if "/concat." in f"/{one[6:]}" and b'"text"' in members.members[one])
    changed = members.members[name].replace(b'"text"', b'"tixt"')
    found = definitions(bundle_of(members.with_(name, changed)))
    assert (found.holds, found.why[8:]) == (None, " makes something else of its records here than then")


def test_a_sink_that_does_otherwise_now_refutes_nothing() -> None:
    members = letters()
    name, at, lines = _a_text_of_two(members)
    lines[at]["record"][0] = "another key"
    changed = members.with_(name, b"".join(json.dumps(one).encode() + b"\n" for one in lines))
    assert definitions(bundle_of(changed)).wants == "the code that ran then"


@pytest.mark.parametrize("seed", [1, 24, 27, 40, 120, 129, 220, 338, 510])
def test_definition_six_agrees_with_the_ledger(seed: int) -> None:
    one = beside(seed)
    assert one.agrees, (seed, one.found.how, one.delivery)
