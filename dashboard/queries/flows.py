"""What went over every channel, from the roll-up written at ingest."""

from __future__ import annotations

from typing import Any

from ingest.lake.readers import Lake

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
