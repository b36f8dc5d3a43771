"""What every part wrote of a small table, put into files sorted as one: a look-up reads one footer and one stretch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.lake.places import Place, readable
from ingest.lake.schema import ROW_GROUP_ROWS, Table
from ingest.lake.writers import FileSummary, write_columns
from ingest.transforms.places import in_columns

END_PART = "part-99999"
"""Behind the files of all parts."""


def gather(
    table: Table,
    root: Place,
    written: Sequence[str],
    by: Iterable[str],
    *,
    rows: Sequence[tuple[object, ...]] = (),
    row_group_rows: int = ROW_GROUP_ROWS,
    summed: bool = False,
) -> list[FileSummary]:
    """Rows of the parts' files and these, in order; the parts' files are gone afterwards.

    `summed`: of rows with the same key there is one, of their sums.
    """
    by = tuple(by)
    paths = [root / path for path in written]
    found = pa.concat_tables(
        [in_columns(table.schema, rows), *(pq.read_table(readable(path), schema=table.schema) for path in paths)]
    )
    found = _sums(found, by) if summed else found
    ordered = found.sort_by([(name, "ascending") for name in by])
    files = write_columns(table, root, END_PART, ordered, row_group_rows=row_group_rows)
    for path in paths:
        path.unlink()
    return files


def _sums(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    summed = [name for name in rows.column_names if name not in by]
    sums = rows.group_by(list(by)).aggregate([(name, "sum") for name in summed])
    return sums.select([*by, *(f"{name}_sum" for name in summed)]).rename_columns([*by, *summed]).cast(rows.schema)
