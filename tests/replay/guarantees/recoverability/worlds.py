"""Random worlds of the simulation, asked by definition: rows straight from the members' bytes, at a few moments."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from replay.guarantees.recoverability.of_bundle import BundleCausality
from tests.replay.causality.brute_force import SENDING, Raw
from tests.replay.guarantees.recoverability.brute_force import WORLD, Definition, Row


class Remembering(Raw):
    """What was read once is kept."""

    def __init__(self, members: Any) -> None:
        super().__init__(members)
        self.cuts = lru_cache(maxsize=None)(super().cuts)  # type: ignore[method-assign]
        self.receipts = lru_cache(maxsize=None)(super().receipts)  # type: ignore[method-assign]
        self.sendings = lru_cache(maxsize=None)(super().sendings)  # type: ignore[method-assign]
        self.depends = lru_cache(maxsize=None)(super().depends)  # type: ignore[method-assign]
        self.held = lru_cache(maxsize=None)(super().held)  # type: ignore[method-assign]


def ask_at(definition: Definition, raw: Remembering, causality: BundleCausality, t_us: int) -> None:
    """Gives the definition all rows that count at a moment."""
    definition.held, definition.depended = [], []
    turns = sorted({when for task in raw.tasks for when, _, _ in definition.gone_on(task, t_us)} | {t_us})
    for task, attempt in definition.alive(t_us).items():
        began = definition.began(task, attempt)
        for moment in (one for one in turns if one >= began):
            for log, data in raw.held(task, attempt, moment).items():
                if log[0] != task:
                    definition.held.append(Row(moment, task, attempt, log, len(data), _writer(definition, log, moment)))
            for log, upto in raw.depends(task, attempt, moment).items():
                definition.depended.append(Row(moment, task, attempt, log, upto))
    definition.held += _kept_outside(raw, definition, t_us)
    definition.depended += set(_seen_outside(raw, causality, turns))


def _writer(definition: Definition, log: tuple[str, str, int], t_us: int) -> int:
    gone_on = definition.gone_on(log[0], t_us - 1)
    return gone_on[-1][1] if gone_on else 0


def _kept_outside(raw: Remembering, definition: Definition, t_us: int) -> Iterator[Row]:
    for task in raw.tasks:
        for attempt in raw.attempts(task):
            for _, data in raw.files(task, attempt, "world", ".dlt"):
                for head, delta in raw.framed(SENDING, data):
                    if head[1] <= t_us:
                        for of, thread, epoch, offset, piece in raw.entries(delta):
                            log, lineage = (of, thread, epoch), definition.lineage(head[1])
                            whose = attempt if of == task else _writer(definition, log, head[1])
                            yield Row(head[1], WORLD, lineage, log, offset + len(piece), whose)


def _seen_outside(raw: Remembering, causality: BundleCausality, turns: list[int]) -> Iterator[Row]:
    """What waited for a checkpoint was stable before it was seen. Of a sink's own choices see `test_outside`."""
    sinks = {(one.task, one.attempt) for one in causality.written}
    for task, attempt in sinks:
        times = sorted(
            one.t_us for one in causality.written if (one.task, one.attempt) == (task, attempt) and not one.waits
        )
        for turn in turns:
            last = max((one for one in times if one <= turn), default=None)
            for log, upto in raw.depends(task, attempt, last).items() if last is not None else ():
                yield Row(last or 0, WORLD, -1, log, upto)
    for place, rows in causality.rows.depended.items():
        if place.task in {task for task, _ in sinks}:
            yield from (Row(row.t_us, WORLD, -1, tuple(place), row.upto) for row in rows if row.task == WORLD)  # type: ignore[arg-type]
