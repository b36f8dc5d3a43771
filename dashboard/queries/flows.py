"""What went over every channel, from the roll-up written at ingest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ingest.lake.readers import Lake
from replay.model import Graph

_SQL = """
SELECT channel, sum(buffers)::BIGINT, sum(bytes)::BIGINT, sum(records)::BIGINT, sum(delta_bytes)::BIGINT
FROM flows GROUP BY channel
"""


def channel_flows(lake: Lake, *, job: str) -> dict[str, dict[str, Any]]:
    """By channel, over all attempts and epochs."""
    return {
        channel: {"buffers": buffers, "bytes": size, "records": records, "deltaBytes": delta}
        for channel, buffers, size, records, delta in lake.rows(_SQL, job=job)
    }


def edge_flows(graph: Graph, flows: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """The same by pair of vertices, summed: `join>sink`."""
    found: dict[str, dict[str, int]] = {}
    for channel in graph.channels:
        flow = flows.get(channel.id)
        if flow is None:
            continue
        edge = f"{graph.task(channel.source).vertex}>{graph.task(channel.target).vertex}"
        total = found.setdefault(edge, {})
        for name, value in flow.items():
            total[name] = total.get(name, 0) + (value or 0)
    return found
