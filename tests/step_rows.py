"""Steps by their rows, for tests that write their own."""

from collections.abc import Iterable
from functools import lru_cache

from replay.debugger.ports import Step, StepForm, StepRow

_form = lru_cache(maxsize=None)(StepForm)


def step_of(row: StepRow, causes: Iterable[str] = ()) -> Step:
    """As a replay hands it over."""
    form = _form(row.task, row.actor, row.kind, row.log, row.channel)
    stands = row.state, row.epoch, row.record_count, row.t_us
    return Step(row.step, form, *stands, row.log_offset, row.buffer, row.bytes, (row.text,), (), tuple(causes))
