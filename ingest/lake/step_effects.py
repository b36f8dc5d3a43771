"""`effects`: the causes of all steps once more, in the order of what they follow from.

Nearly every step follows from one shortly before it. So they are sorted stretch by stretch, and what is not near is
kept apart: each row group then says itself which few steps its rows follow from, and no memory grows with the steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ingest.lake.step_schema import EFFECTS, STEP_ROW_GROUP_ROWS
from ingest.lake.step_text import causes_of
from ingest.lake.writers import TableWriter

Numbers = npt.NDArray[np.int64]

NEAR_STEPS = 65_536
STRETCH_ROWS = 262_144
_STEP = "step:"
# As this project writes them: whatever else a file from elsewhere calls so stays as it is.
_IS_STEP = "^step:(0|[1-9][0-9]{0,17})$"


def write_effects(causes: Sequence[Path], folder: Path) -> list[list[Path]]:
    """Of the files of `causes`, in their order: the files of what is near, of what is far, and of what is no step."""
    writers = [
        TableWriter(EFFECTS, folder, f"{name}-parts", row_group_rows=STEP_ROW_GROUP_ROWS, page_index=False)
        for name in ("near", "far", "other")
    ]
    near, far, other = writers
    late: list[tuple[Numbers, Numbers]] = []
    try:
        for steps, named in _stretches(causes):
            is_step = pc.match_substring_regex(named, _IS_STEP).to_numpy(zero_copy_only=False)
            if not is_step.all():
                _add(other, steps[~is_step], named.filter(pa.array(~is_step)))
                steps, named = steps[is_step], named.filter(pa.array(is_step))
            of = pc.utf8_slice_codeunits(named, len(_STEP)).cast(pa.int64()).to_numpy()
            is_near = steps - of <= NEAR_STEPS
            _add_sorted(near, steps[is_near], of[is_near], named.filter(pa.array(is_near)))
            late.append((steps[~is_near], of[~is_near]))
            if sum(len(one) for one, _ in late) >= STRETCH_ROWS:
                _add_late(far, late)
        if late:
            _add_late(far, late)
        return [[folder / file.path for file in writer.close()] for writer in writers]
    except BaseException:
        for writer in writers:
            writer.abandon()
        raise


def _stretches(causes: Sequence[Path]) -> Iterator[tuple[Numbers, pa.Array]]:
    """Steps and causes, so many at a time."""
    for path in causes:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(STRETCH_ROWS, use_threads=False):
                yield batch.column("step").to_numpy(), batch.column("cause")


def _add_late(writer: TableWriter, late: list[tuple[Numbers, Numbers]]) -> None:
    steps, of = (np.concatenate(some) for some in zip(*late, strict=True))
    _add_sorted(writer, steps, of, causes_of(of))
    late.clear()


def _add_sorted(writer: TableWriter, steps: Numbers, of: Numbers, named: pa.Array) -> None:
    order = np.argsort(of, kind="stable")
    _add(writer, steps[order], named.take(pa.array(order)))


def _add(writer: TableWriter, steps: Numbers, causes: pa.Array) -> None:
    for first in range(0, len(steps), STEP_ROW_GROUP_ROWS):
        some = slice(first, first + STEP_ROW_GROUP_ROWS)
        writer.add({"step": pa.array(steps[some]), "cause": causes[some]}, len(causes[some]))
