"""All epochs of all threads: those with determinants, and those that only times tell of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.lake.log_index import KEY
from ingest.lake.places import Place, readable
from ingest.lake.schema import EPOCHS
from ingest.transforms.places import TIMES


def epochs_of(index: Sequence[Place], times: Iterable[pa.Table]) -> pa.Table:
    """A row each in the table's order, from the index of logs and from when they were seen alive."""
    columns = [*KEY, "rows", "bytes"]
    logs = [pq.read_table(readable(path), columns=columns) for path in index]
    none = pa.schema([EPOCHS.schema.field(name) for name in KEY] + [("rows", pa.int64()), ("bytes", pa.int64())])
    sums = _grouped(pa.concat_tables([none.empty_table(), *logs]), rows="sum", bytes="sum")
    seen = _grouped(pa.concat_tables([TIMES.empty_table(), *times]), start_us="min", end_us="max")
    both = sums.join(seen, list(KEY), join_type="full outer").sort_by([(name, "ascending") for name in KEY])
    zero = [both["rows"].fill_null(0), both["bytes"].fill_null(0)]
    return pa.table([*(both[name] for name in KEY), *zero, both["start_us"], both["end_us"]], schema=EPOCHS.schema)


def _grouped(table: pa.Table, **sums: str) -> pa.Table:
    found = table.group_by(list(KEY)).aggregate(list(sums.items()))
    return found.rename_columns({f"{name}_{how}": name for name, how in sums.items()})
