"""Inputs and outputs of a replay at a step: what was taken from where, and the ledger of buffers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dashboard.queries.steps import nearest
from dashboard.queries.written_once import once_written
from ingest.lake.step_reader import StepReader

BEFORE = 6
AFTER = 3
ANSWERS_SHOWN = 6
INPUTS_SHOWN = 12

_INPUTS_SQL = """
SELECT channel, count(*) FILTER (step <= $step), count(*), sum(bytes) FILTER (step <= $step)::BIGINT,
       max(buffer) FILTER (step <= $step), max(step) FILTER (step <= $step)
FROM steps WHERE kind = 'take-buffer' AND channel IS NOT NULL GROUP BY channel ORDER BY channel
"""
_LEDGER_SQL = """
SELECT b.step, b.channel, b.seq, b.bytes, b.was_received_before, b.matches, 0, s.kind = 'send-buffer'
FROM buffers b JOIN steps s ON s.step = b.step
WHERE b.step >= $first AND b.step < $end AND s.step >= $first AND s.step < $end
ORDER BY b.step {order}, b.channel, b.seq LIMIT $limit
"""
_LEDGER_WINDOW_SQL = """
WITH shown AS (SELECT * FROM buffers ORDER BY step, channel, seq LIMIT $limit OFFSET $first)
SELECT b.step, b.channel, b.seq, b.bytes, b.was_received_before, b.matches, 0, s.kind = 'send-buffer'
FROM shown b JOIN steps s ON s.step = b.step ORDER BY b.step, b.channel, b.seq
"""
_TOTALS_SQL = """
SELECT count(*), count(*) FILTER (step <= $step), count(*) FILTER (was_received_before AND step <= $step),
       count(*) FILTER (NOT matches), count(*) FILTER (matches),
       (SELECT count(*) FROM buffers b JOIN steps s ON s.step = b.step
        WHERE s.kind = 'send-buffer' AND b.was_received_before IS NULL AND b.step <= $step)
FROM buffers
"""
# What is written to an output and not cut yet stands in the buffer that is cut next.
_FILLING_SQL = """
SELECT channel, sum(CASE kind WHEN 'write-record' THEN bytes ELSE -bytes END)::BIGINT FROM steps
WHERE kind IN ('write-record', 'cut-buffer') AND step <= $step AND channel IS NOT NULL GROUP BY channel
"""

_ANSWERS_SQL = """
SELECT step, text FROM steps WHERE kind IN ('answer', 'merge') ORDER BY step LIMIT $limit
"""


@dataclass(frozen=True, slots=True)
class Input:
    channel: str
    taken: int
    total: int
    bytes: int | None
    last_buffer: int | None
    last_step: int | None
    index: int = 0

    @property
    def sender(self) -> str:
        return self.channel.partition(">")[0]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    step: int
    channel: str
    seq: int
    bytes: int
    was_received_before: bool | None
    matches: bool | None
    filled_bytes: int = 0
    sent: bool = False

    @property
    def receiver(self) -> str:
        return self.channel.partition(">")[2]

    @property
    def fate(self) -> str:
        if self.was_received_before is None:
            return "new" if self.sent else "rebuilt"
        return "held back" if self.was_received_before else "sent"


@dataclass(frozen=True, slots=True)
class Ledger:
    rows: list[Rebuilt]
    total: int
    so_far: int
    held_back: int
    mismatches: int
    matches: int
    new: int = 0
    first: int = 0

    @property
    def rebuilt(self) -> int:
        """So far, without those that the new attempt cut by choices of its own."""
        return self.so_far - self.new


@dataclass(frozen=True, slots=True)
class Inputs:
    """Some of all inputs, from the `first` one on."""

    rows: list[Input]
    first: int
    total: int


def inputs(written: StepReader, step: int, order: list[str]) -> list[Input]:
    """In channel-index order; an input that gave nothing (yet) stands there with nothing."""
    found = {row[0]: Input(*row) for row in written.rows(_INPUTS_SQL, {"step": step})}
    names = [*order, *sorted(found.keys() - set(order))]
    nothing = (0, 0, 0, None, None)
    return [replace(found.get(name) or Input(name, *nothing), index=index) for index, name in enumerate(names)]


def inputs_window(all_of_them: list[Input], first: int, count: int) -> Inputs:
    return Inputs(all_of_them[first : first + count], first, len(all_of_them))


def inputs_around(all_of_them: list[Input], channel: str | None) -> Inputs:
    """As many as the panel has room for, that of the step among them."""
    here = next((one.index for one in all_of_them if one.channel == channel), 0)
    first = min(max(0, here - INPUTS_SHOWN // 2), max(0, len(all_of_them) - INPUTS_SHOWN))
    return inputs_window(all_of_them, first, INPUTS_SHOWN)


def told(written: StepReader) -> list[tuple[int, str]]:
    """(step, sentence) of every answer that the task was given, and of what they came to together."""
    rows = once_written(written, "answers", lambda: written.rows(_ANSWERS_SQL, {"limit": ANSWERS_SHOWN}))
    return [(step, text) for step, text in rows]


def ledger(written: StepReader, step: int) -> Ledger:
    shown = BEFORE + AFTER
    earlier = _rows(written, True, step, shown)[::-1]
    later = _rows(written, False, step, shown - min(BEFORE, len(earlier)))
    earlier = earlier[-(shown - min(AFTER, len(later))) :]
    later = later[: shown - len(earlier)]
    totals = written.rows(_TOTALS_SQL, {"step": step})[0]
    found = Ledger([*earlier, *_filling(written, step, later)], *totals)
    return replace(found, first=max(0, found.so_far - len(earlier)))


def ledger_window(written: StepReader, step: int, first: int, count: int) -> list[Rebuilt]:
    """Buffers from the `first` one of the ledger on."""
    rows = [Rebuilt(*row) for row in written.rows(_LEDGER_WINDOW_SQL, {"first": first, "limit": count})]
    so_far = written.rows("SELECT count(*) FROM buffers WHERE step <= $step", {"step": step})[0][0]
    if first > so_far:  # what is being filled stands before these
        return rows
    done = [one for one in rows if one.step <= step]
    return [*done, *_filling(written, step, rows[len(done) :])]


def _filling(written: StepReader, step: int, later: list[Rebuilt]) -> list[Rebuilt]:
    """Of what is to come, each channel's first buffer is being filled, where anything is written to it."""
    filled: dict[str, int] = dict(written.rows(_FILLING_SQL, {"step": step}))
    # A buffer of 4,096 bytes may be cut in the middle of a record: the rest of it fills the one after.
    return [replace(one, filled_bytes=min(one.bytes, max(0, filled.pop(one.channel, 0)))) for one in later]


def _rows(written: StepReader, back: bool, step: int, limit: int) -> list[Rebuilt]:
    sql = _LEDGER_SQL.format(order="DESC" if back else "")
    rows = nearest(written, step, back, limit, lambda asked: written.rows(sql, {**asked, "limit": limit}))
    return [Rebuilt(*row) for row in rows]
