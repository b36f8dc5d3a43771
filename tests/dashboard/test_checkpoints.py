"""Checkpoints as a table, and each task's part in one, against what plain Python reads of the bundle."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from dashboard.queries.checkpoints import checkpoints, shares
from ingest.lake.readers import Lake
from replay.bundle.reader import Bundle, open_bundle
from replay.model import Graph
from tests.ingest.inprocess import ingested_here
from tests.ingest.test_causal_tables import packed

EVENT = 1
Part = tuple[int | None, int | None, int]


@pytest.mark.parametrize("seed", range(1, 9))
def test_checkpoints_are_those_of_the_events(seed: int, tmp_path: Path) -> None:
    pack = packed(seed, tmp_path)
    ingested_here(pack, tmp_path / "data")
    lake = Lake(tmp_path / "data")
    with open_bundle(pack) as bundle:
        graph = Graph(bundle.manifest)
        events = list(bundle.events())
        parts = _parts(bundle, graph)
    at: dict[str, dict[int, list[dict]]] = defaultdict(lambda: defaultdict(list))
    for event in events:
        if event["type"].startswith("checkpoint-"):
            at[event["type"].removeprefix("checkpoint-")][event["checkpoint"]].append(event)
    listed = checkpoints(lake, job="j_1")
    named = {n for kind in ("triggered", "completed", "aborted", "acknowledged") for n in at[kind]}
    assert [one.checkpoint for one in listed] == sorted(named), f"seed {seed}"
    for one in listed:
        # Where two attempts of a task acknowledged, the first one counts.
        told = list({event["task"]: event for event in reversed(at["acknowledged"][one.checkpoint])}.values())
        assert one.acknowledged == len(told), f"seed {seed}, {one}"
        if not {event["task"] for event in told} & {event["task"] for event in at["ignored"][one.checkpoint]}:
            assert one.bytes == (sum(event["bytes"] for event in told) if told else None), f"seed {seed}, {one}"
        if told:
            last = max(event["t_us"] for event in told)
            assert one.last_us == last, f"seed {seed}, {one}"
            assert one.last_task in {event["task"] for event in told if event["t_us"] == last}, f"seed {seed}, {one}"
        inputs = {channel.id: channel.target for channel in graph.channels}
        found = {
            (share.task, share.attempt): (share.first_us, share.aligned_us, share.acknowledged_us)
            for share in shares(lake, job="j_1", checkpoint=one.checkpoint, inputs=inputs)
            if share.acknowledged_us is not None
        }
        assert {task for task, _ in found} == {event["task"] for event in told}, f"seed {seed}, {one}"
        for (task, attempt), (first_us, aligned_us, acknowledged_us) in found.items():
            barriers = parts[one.checkpoint, task, attempt]
            assert acknowledged_us in {event["t_us"] for event in told if event["task"] == task}
            assert first_us == min(barriers, default=None), f"seed {seed}, {one}, {task}"
            expected = max(barriers) - min(barriers) if barriers else None
            assert aligned_us == expected, f"seed {seed}, {one}, {task}"


def _parts(bundle: Bundle, graph: Graph) -> dict[tuple[int, str, int], list[int]]:
    """When each attempt took the barriers of a checkpoint: buffers of events with which its senders' epochs end."""
    first: dict[tuple[int, str], int] = {}
    for event in bundle.events():
        if event["type"] == "checkpoint-acknowledged":
            first.setdefault((event["checkpoint"], event["task"]), event["attempt"])
    last: dict[tuple[str, int, int], int] = {}
    for task in bundle.manifest.tasks:
        for attempt in bundle.attempts(task.id):
            for k, output in enumerate(task.outputs):
                for buffer in bundle.buffers(task.id, attempt, k):
                    if buffer.flags & EVENT:
                        key = output.channel, attempt, buffer.epoch + 1
                        last[key] = max(last.get(key, -1), buffer.seq)
    found: dict[tuple[int, str, int], dict[str, int]] = defaultdict(dict)
    for task in bundle.manifest.tasks:
        for attempt in bundle.attempts(task.id):
            for place, channel in enumerate(task.inputs):
                for receipt in bundle.receipts(task.id, attempt, place):
                    if not receipt.taken:
                        continue
                    for (of, sender, checkpoint), seq in last.items():
                        source = graph.channel(channel).source
                        its = (of, sender, seq) == (channel, receipt.sender_attempt, receipt.seq)
                        if its and first.get((checkpoint, source)) == sender:
                            times = found[checkpoint, task.id, attempt]
                            times[channel] = min(times.get(channel, receipt.taken_us), receipt.taken_us)
    return defaultdict(list, {key: list(times.values()) for key, times in found.items()})
