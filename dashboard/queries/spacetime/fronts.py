"""Barriers as fronts: of each checkpoint and task the first barrier, the last one, and the snapshot."""

from __future__ import annotations

from typing import Any

from ingest.lake.readers import Lake

MOST_FRONTS = 3_000
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1

# A barrier is the last buffer of the epoch that it ends, of a sender that told of its snapshot: where it did not,
# the last event of an epoch may be a watermark.
_FRONTS_SQL = """
WITH told AS (
    SELECT checkpoint, task, attempt, acknowledged_us FROM checkpoints
    WHERE task IS NOT NULL AND acknowledged_us BETWEEN $from_us AND $to_us
      AND checkpoint BETWEEN $first AND $last
), barriers AS (
    SELECT b.channel, b.attempt, b.epoch + 1 AS checkpoint, max(b.seq) AS seq FROM buffers b
    WHERE b.flags & 1 = 1 AND b.epoch + 1 IN (SELECT checkpoint FROM told) GROUP BY b.channel, b.attempt, b.epoch
), arrived AS (
    SELECT m.checkpoint, m.channel, s.receiver_attempt, min(s.taken_us) AS taken_us FROM barriers m
    JOIN checkpoints c ON c.checkpoint = m.checkpoint AND c.attempt = m.attempt
        AND m.channel[:len(c.task) + 1] = c.task || '>' AND c.acknowledged_us IS NOT NULL
    JOIN sendings s ON s.channel = m.channel AND s.attempt = m.attempt AND s.seq = m.seq
    WHERE s.taken_us IS NOT NULL GROUP BY m.checkpoint, m.channel, s.receiver_attempt
), inputs AS (SELECT unnest($channels::VARCHAR[]) AS channel, unnest($tasks::VARCHAR[]) AS task)
SELECT t.checkpoint, t.task, t.attempt, t.acknowledged_us, min(a.taken_us), max(a.taken_us), count(a.channel)
FROM told t LEFT JOIN inputs i ON i.task = t.task
LEFT JOIN arrived a ON a.channel = i.channel AND a.checkpoint = t.checkpoint AND a.receiver_attempt = t.attempt
GROUP BY t.checkpoint, t.task, t.attempt, t.acknowledged_us ORDER BY t.checkpoint, t.task LIMIT $limit
"""
_COUNT_SQL = """
SELECT count(*) FROM checkpoints WHERE task IS NOT NULL AND acknowledged_us BETWEEN $from_us AND $to_us
"""


def fronts(
    lake: Lake, *, job: str, inputs: dict[str, str], from_us: int, to_us: int
) -> tuple[list[dict[str, Any]], int]:
    """Those that a window has, and how many they are where they are too many to be drawn. `inputs`: task by channel."""
    window = {"from_us": from_us, "to_us": to_us}
    count = lake.rows(_COUNT_SQL, window, job=job)[0][0]
    if count > MOST_FRONTS:
        return [], count
    return _fronts(lake, job, inputs, **window, first=_LEAST, last=_MOST), count


def fronts_of(lake: Lake, *, job: str, inputs: dict[str, str], checkpoint: int) -> list[dict[str, Any]]:
    """Of one checkpoint, whenever it was."""
    return _fronts(lake, job, inputs, from_us=_LEAST, to_us=_MOST, first=checkpoint, last=checkpoint)


def _fronts(lake: Lake, job: str, inputs: dict[str, str], **bounds: int) -> list[dict[str, Any]]:
    asked = {**bounds, "channels": list(inputs), "tasks": list(inputs.values()), "limit": MOST_FRONTS}
    fields = ("checkpoint", "task", "attempt", "acknowledged_us", "first_us", "last_us", "barriers")
    return [dict(zip(fields, row, strict=True)) for row in lake.rows(_FRONTS_SQL, asked, job=job)]
