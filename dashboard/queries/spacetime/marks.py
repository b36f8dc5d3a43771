"""The buffers of a window of time, never more marks than a picture has room for: those of two lanes that were sent
close together are one mark, which says how many they are and from when to when they were sent and taken.

One pass over `sendings` per window: every column that it reads is a few bytes a row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dashboard.queries.spacetime.cone import Cone
from dashboard.queries.spacetime.lanes import Lanes
from ingest.lake.readers import Lake, PublishedJob
from replay.model import Channel

MOST_MARKS = 4_000
FEWEST_COLUMNS = 4
MOST_COLUMNS = 480

_SEEN_SQL = """
lanes AS (SELECT unnest($channels::VARCHAR[]) AS channel, unnest($places::INTEGER[]) AS place,
              unnest($pairs::INTEGER[]) AS pair),
past AS (SELECT unnest($past_channels::VARCHAR[]) AS channel, unnest($past_attempts::BIGINT[]) AS attempt,
                unnest($past_us::BIGINT[]) AS t_us,
                unnest($past_epochs::BIGINT[]) AS epoch),
future AS (SELECT unnest($future_channels::VARCHAR[]) AS channel, unnest($future_attempts::BIGINT[]) AS attempt,
                  unnest($future_numbers::BIGINT[]) AS seq),
seen AS (
    SELECT l.pair, l.place, s.attempt, s.seq, s.sending, s.receiver_attempt,
           coalesce(s.sent_us, s.received_us, s.taken_us) AS sent_us, s.taken_us, s.flags & 1 = 1 AS resent,
           coalesce(s.taken_us <= p.t_us OR s.taken_epoch < p.epoch, false) AS in_past,
           coalesce(s.seq >= f.seq, false) AS in_future
    FROM sendings s JOIN lanes l ON s.channel = l.channel
    LEFT JOIN past p ON s.channel = p.channel AND s.receiver_attempt = p.attempt
    LEFT JOIN future f ON s.channel = f.channel AND s.attempt = f.attempt
    WHERE (s.sent_us <= $to_us OR s.sent_us IS NULL) AND (s.taken_us >= $from_us OR s.taken_us IS NULL)
      AND coalesce(s.sent_us, s.received_us, s.taken_us) <= $to_us
      AND coalesce(s.taken_us, s.received_us, s.sent_us) >= $from_us
)"""
_COLUMNS = """count(*), min(sent_us), max(sent_us), min(taken_us), max(taken_us), count(*) FILTER (taken_us IS NULL),
       count(*) FILTER (resent), min(place), max(place), min(attempt), max(attempt), min(receiver_attempt),
       max(receiver_attempt), min(seq), max(seq), count(*) FILTER (in_past), count(*) FILTER (in_future)"""
_AGGREGATED_SQL = f"""
WITH {_SEEN_SQL}
SELECT pair, {_COLUMNS} FROM seen
GROUP BY pair, taken_us IS NULL, greatest((sent_us - $from_us) // $step_us, -8) ORDER BY pair, min(sent_us)
"""
_EACH_SQL = f"""
WITH {_SEEN_SQL}
SELECT pair, {_COLUMNS} FROM seen GROUP BY pair, place, attempt, seq, sending, receiver_attempt
ORDER BY min(sent_us), pair, min(seq)
"""
FIELDS = (
    "pair",
    "count",
    "sent",
    "sent_last",
    "taken",
    "taken_last",
    "lost",
    "resent",
    "place",
    "place_last",
    "attempt",
    "attempt_last",
    "receiver_attempt",
    "receiver_attempt_last",
    "seq",
    "seq_last",
    "past",
    "future",
)
"""The columns of marks, as the API names them: counts, times, and the first and the last of what a mark holds."""


@dataclass(frozen=True, slots=True)
class Window:
    """From one moment to another, both in it, and so many columns wide."""

    from_us: int
    to_us: int


def marks(lake: Lake, lanes: Lanes, *, job: str, window: Window, cone: Cone | None) -> dict[str, Any]:
    """Each by itself where they are few, else so many columns as leave room; `buffers`: how many all marks hold."""
    published = lake.job(job)
    channels = lanes.channels()
    pairs = list(dict.fromkeys((a, b) for _, a, b in channels))
    asked = _asked(channels, {pair: n for n, pair in enumerate(pairs)}, window, cone)
    rows, step_us = _rows(published, asked, window, len(pairs)) if channels else ([], 0)
    columns = [list(one) for one in zip(*rows, strict=True)] if rows else [[] for _ in FIELDS]
    return {
        "step_us": step_us,
        "buffers": sum(columns[1]),
        "pairs": pairs,
        "channels": [one.id for one, _, _ in channels],
        "marks": dict(zip(FIELDS, columns, strict=True)),
    }


def _rows(job: PublishedJob, asked: dict[str, Any], window: Window, pairs: int) -> tuple[list[tuple[Any, ...]], int]:
    """`step_us` 0: none of them is put together with others."""
    columns = min(MOST_COLUMNS, max(FEWEST_COLUMNS, MOST_MARKS // pairs))
    step_us = max(1, -(-(window.to_us - window.from_us + 1) // columns))
    rows = job.rows(_AGGREGATED_SQL, {**asked, "step_us": step_us})
    if sum(row[1] for row in rows) <= MOST_MARKS:
        return job.rows(_EACH_SQL, asked), 0
    return rows, step_us


def _asked(
    channels: list[tuple[Channel, int, int]], pairs: dict[tuple[int, int], int], window: Window, cone: Cone | None
) -> dict[str, Any]:
    into: dict[str, list[str]] = {}
    for channel, _, _ in channels:
        into.setdefault(channel.target, []).append(channel.id)
    past = [
        (channel_id, attempt, upto.t_us, upto.epoch)
        for (task, attempt), upto in (cone.past if cone else {}).items()
        for channel_id in into.get(task, ())
    ]
    future = [(channel, attempt, seq) for (channel, attempt), seq in (cone.firsts if cone else {}).items()]
    return {
        "channels": [one.id for one, _, _ in channels],
        "places": list(range(len(channels))),
        "pairs": [pairs[a, b] for _, a, b in channels],
        "from_us": window.from_us,
        "to_us": window.to_us,
        **_lists(past, "past_channels", "past_attempts", "past_us", "past_epochs"),
        **_lists(future, "future_channels", "future_attempts", "future_numbers"),
    }


def _lists(rows: Iterable[tuple[Any, ...]], *names: str) -> dict[str, list[Any]]:
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return {name: list(column) for name, column in zip(names, columns, strict=True)}
