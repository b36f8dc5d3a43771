"""The rows of channels, read a batch after the other: what lies in files is not this process's memory meanwhile."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ingest.transforms.growth import spool as spools
from ingest.transforms.growth.channel_rows import BUFFERS, DELTAS, SENDINGS, read_channels
from ingest.transforms.growth.places import Names
from ingest.transforms.growth.spool import Spool
from replay.jobs.options import RecordOptions
from replay.model import MAIN, Graph, Manifest
from replay.simulation.replays import recorded

ROWS, BATCHES = 50_000, 8
COLUMNS = {"buffers": BUFFERS, "sendings": SENDINGS, "deltas": DELTAS}


@pytest.fixture
def names() -> Names:
    members = recorded(RecordOptions(events=20, seed=1)).members
    return Names(Graph(Manifest.from_json(members.read("job.json"))))


def batches_of(names: Names, table: str, asked: list[str]) -> Iterator[pa.RecordBatch]:
    """Of a channel, its sender's main log and attempt 0: numbers from 0 on."""
    channel = names.graph.channels[0]
    told = {"channel": channel.id, "task": channel.source, "thread": MAIN}
    for n in range(BATCHES):
        numbers = pa.array(np.arange(n * ROWS, (n + 1) * ROWS))
        zeros = pa.array(np.zeros(ROWS, np.int64))
        columns: dict[str, Any] = {name: numbers if name == "seq" else zeros for name in COLUMNS[table]}
        for name, value in told.items():
            columns[name] = pa.DictionaryArray.from_arrays(pa.array(np.zeros(ROWS, np.int32)), [value])
        yield pa.record_batch({name: columns[name] for name in asked})


def mapped_bytes(folder: Path) -> int:
    """Of the files below it, what is in this process's memory."""
    found, below = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, *rest = line.split(maxsplit=5)
        if not first.endswith(":"):
            below = bool(rest) and rest[-1].startswith(str(folder))
        elif first == "Rss:" and below:
            found += int(rest[0]) << 10
    return found


def test_what_is_read_is_kept_in_files_and_not_looked_at_there(
    names: Names, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spools, "IN_MEMORY_BYTES", 0)
    with closing(Spool(tmp_path / "kept")) as spool:
        rows = read_channels(lambda table, asked: batches_of(names, table, asked), names, spool, with_deltas=True)
        assert mapped_bytes(tmp_path) == 0
        channel = names.graph.channels[0].id
        for table in (rows.buffers, rows.sendings, rows.deltas):
            assert np.array_equal(table.whole(channel)["seq"], np.arange(ROWS * BATCHES))
        assert mapped_bytes(tmp_path) > 3 * ROWS * BATCHES * 8
        spool.let_go()
        assert mapped_bytes(tmp_path) == 0
        source = names.graph.channels[0].source
        named = {(int(log), int(epoch)) for logs, epochs in rows.used for log, epoch in zip(logs, epochs, strict=True)}
        assert named == {(names.log_number[source, MAIN], 0), (names.output_log(source, 0), 0)}
