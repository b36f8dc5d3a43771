"""Thousands of steps, as they are handed over, made into columns of `steps` and `causes`: what many have in common is
looked up once, and each sentence is put into words for all the steps that say it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.lake.step_text import causes_of, texts
from replay.debugger.ports import Step, StepForm
from replay.debugger.writing.sentences import Values

Columns = dict[str, Any]
FIELDS = len(Step._fields)
KEY_BEFORE_AFTER = 3
_OF_THE_FORM = ("task", "actor", "kind", "log", "channel")


def columns_of(fields: list[Any]) -> tuple[Columns, Columns, int]:
    """Those of `steps`, those of `causes`, and how many rows the latter have; of the fields of one step after another.

    To slice them takes half as long as to turn the steps round.
    """
    step, form, state, epoch, record_count, t_us, log_offset, buffer, size, values, of_steps, of_others = (
        fields[one::FIELDS] for one in range(FIELDS)
    )
    numbers = np.fromiter(step, np.int64, len(step))
    places = {one: place for place, one in enumerate(dict.fromkeys(form))}
    forms = np.fromiter(map(places.__getitem__, form), np.int64, len(form))
    of_form = {name: _looked_up([getattr(one, name) for one in places], forms) for name in _OF_THE_FORM}
    columns = {
        "step": pa.array(numbers),
        **of_form,
        "state": state[0] if state.count(state[0]) == len(state) else pa.array(state, pa.string()),
        "epoch": pa.array(epoch, pa.int64()),
        "record_count": pa.array(record_count, pa.int64()),
        "t_us": pa.array(t_us, pa.int64()),
        "log_offset": pa.array(log_offset, pa.int64()),
        "buffer": pa.array(buffer, pa.int64()),
        "bytes": pa.array(size, pa.int64()),
        "text": _said(list(places), forms, values),
    }
    return columns, *_causes(numbers, of_steps, of_others)


def _looked_up(names: list[str | None], places: npt.NDArray[np.int64]) -> Any:
    if len(set(names)) == 1:
        return names[0]
    return pa.array(names, pa.string()).take(pa.array(places))


def _said(forms: list[StepForm], places: npt.NDArray[np.int64], values: list[Values]) -> pa.Array:
    """Sentence by sentence, and then in the order of the steps."""
    sentences = {one: place for place, one in enumerate(dict.fromkeys(form.sentence for form in forms))}
    spoken = np.array([sentences[form.sentence] for form in forms], np.int16)[places]
    order = np.argsort(spoken, kind="stable")
    gaps = np.fromiter(values, object, len(values))[order].tolist()
    ends = np.cumsum(np.bincount(spoken, minlength=len(sentences))).tolist()
    said = [texts(one, gaps[begin:end]) for one, begin, end in zip(sentences, [0, *ends], ends, strict=False)]
    return pa.concat_arrays(said).take(_back(order))


def _causes(
    steps: npt.NDArray[np.int64], of_steps: list[tuple[int, ...]], of_others: list[tuple[str, ...]]
) -> tuple[Columns, int]:
    """Of each step what is called otherwise comes first, then the steps."""
    counts = [np.fromiter(map(len, one), np.int64, len(steps)) for one in (of_others, of_steps)]
    rows = int(counts[0].sum() + counts[1].sum())
    others = pa.array(list(chain.from_iterable(of_others)), pa.string())
    others_steps = causes_of(np.fromiter(chain.from_iterable(of_steps), np.int64, int(counts[1].sum())))
    named = np.repeat(steps, counts[0])
    # Where all rows of the one kind stand, and those of the other, among one another.
    ends = np.cumsum(counts[0] + counts[1])
    begins = ends - counts[0] - counts[1]
    of_named = np.repeat(begins - np.cumsum(counts[0]) + counts[0], counts[0]) + np.arange(len(named))
    of_step = np.repeat(ends - np.cumsum(counts[1]), counts[1]) + np.arange(rows - len(named))
    cause = pa.concat_arrays([others, others_steps]).take(_back(np.concatenate([of_named, of_step])))
    return {"step": pa.array(np.repeat(steps, counts[0] + counts[1])), "cause": cause}, rows


def _back(placed: npt.NDArray[np.int64]) -> pa.Array:
    """Where in what was put together each row stands that belongs to these places."""
    back = np.empty(len(placed), np.int64)
    back[placed] = np.arange(len(placed))
    return pa.array(back)


def changes_of(
    changes: Sequence[tuple[int, str, int]], changed: list[str | None], most_rows: int
) -> Iterator[tuple[Columns, int]]:
    """Those of `state_changes`, and how many rows they have, so many at a time.

    `changes` says of which step and task, and how many there are; `changed` holds one after another.
    """
    step, task, count = zip(*changes, strict=True)
    counts = np.fromiter(count, np.int64, len(changes))
    steps = np.repeat(np.fromiter(step, np.int64, len(changes)), counts)
    tasks = pa.array(task, pa.string()).take(pa.array(np.repeat(np.arange(len(changes)), counts)))
    key, before, after = (changed[one::KEY_BEFORE_AFTER] for one in range(KEY_BEFORE_AFTER))
    for first in range(0, len(steps), most_rows):
        some = slice(first, first + most_rows)
        own = {"key": key[some], "before": before[some], "after": after[some]}
        yield {"step": pa.array(steps[some]), "task": tasks[some], **own}, len(own["key"])
