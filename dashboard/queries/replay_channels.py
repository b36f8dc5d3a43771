"""Inputs and outputs of a replay at a step: what was taken from where, and the ledger of buffers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ingest.lake.step_reader import StepReader

BEFORE = 6
AFTER = 3
ANSWERS_SHOWN = 6

_INPUTS_SQL = """
SELECT channel, count(*) FILTER (step <= $step), count(*), sum(bytes) FILTER (step <= $step)::BIGINT,
       max(buffer) FILTER (step <= $step), max(step) FILTER (step <= $step), min(step) FILTER (step > $step)
FROM steps WHERE kind = 'take-buffer' AND channel IS NOT NULL GROUP BY channel ORDER BY channel
"""
_LEDGER_SQL = """
SELECT b.step, b.channel, b.seq, b.bytes, b.was_received_before, b.matches, 0, s.kind = 'send-buffer'
FROM buffers b JOIN steps s ON s.step = b.step
WHERE b.step {compared} $step ORDER BY b.step {order}, b.channel, b.seq LIMIT $limit
"""
_TOTALS_SQL = """
SELECT count(*), count(*) FILTER (step <= $step), count(*) FILTER (was_received_before AND step <= $step),
       count(*) FILTER (NOT matches), count(*) FILTER (matches), min(step) FILTER (NOT matches),
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
    next_step: int | None

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
    first_mismatch: int | None
    new: int = 0

    @property
    def rebuilt(self) -> int:
        """So far, without those that the new attempt cut by choices of its own."""
        return self.so_far - self.new


def inputs(written: StepReader, step: int, order: list[str]) -> list[Input]:
    """In channel-index order; an input that gave nothing (yet) stands there with nothing."""
    found = {row[0]: Input(*row) for row in written.rows(_INPUTS_SQL, {"step": step})}
    names = [*order, *sorted(found.keys() - set(order))]
    return [found.get(name) or Input(name, 0, 0, 0, None, None, None) for name in names]


def told(written: StepReader) -> list[tuple[int, str]]:
    """(step, sentence) of every answer that the task was given, and of what they came to together."""
    return [(step, text) for step, text in written.rows(_ANSWERS_SQL, {"limit": ANSWERS_SHOWN})]


def ledger(written: StepReader, step: int) -> Ledger:
    earlier = _rows(written, "<=", "DESC", step, BEFORE)[::-1]
    later = _rows(written, ">", "", step, AFTER + BEFORE - len(earlier))
    totals = written.rows(_TOTALS_SQL, {"step": step})[0]
    return Ledger([*earlier, *_filling(written, step, later)], *totals)


def _filling(written: StepReader, step: int, later: list[Rebuilt]) -> list[Rebuilt]:
    """Of what is to come, each channel's first buffer is being filled, where anything is written to it."""
    filled: dict[str, int] = dict(written.rows(_FILLING_SQL, {"step": step}))
    # A buffer of 4,096 bytes may be cut in the middle of a record: the rest of it fills the one after.
    return [replace(one, filled_bytes=min(one.bytes, max(0, filled.pop(one.channel, 0)))) for one in later]


def _rows(written: StepReader, compared: str, order: str, step: int, limit: int) -> list[Rebuilt]:
    sql = _LEDGER_SQL.format(compared=compared, order=order)
    return [Rebuilt(*row) for row in written.rows(sql, {"step": step, "limit": limit})]
