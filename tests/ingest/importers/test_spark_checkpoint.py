"""Checkpoints of real Structured Streaming queries become bundles that say what they tell, and what they don't."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from replay.bundle.containers import open_container
from replay.bundle.pack import write_pack
from replay.bundle.reader import Bundle, open_bundle
from replay.debugger.replay import replay
from replay.log.determinants import Serializable, Take, Timestamp
from replay.model import MAIN
from tests.ingest.importers.checkpoints import copied, imported
from tests.ingest.importers.streaming_queries import STANDS_STILL_IN, orders
from tests.ingest.inprocess import ingested_here, rows_of
from tests.replay.debugger.worlds import Kept

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark-checkpoints")]


def bundle_of(checkpoint: Path, folder: Path) -> Bundle:
    assert imported(checkpoint, folder / "bundle") == {"kind": "spark-checkpoint"}
    return open_bundle(folder / "bundle")


def told_of(bundle: Bundle) -> dict[str, Any]:
    return json.loads(bundle.members.read("imported.json"))


def totals_after(batch: int) -> dict[str, int]:
    """What the aggregation holds when batches 0 to `batch` are in it, added up by hand."""
    counted: Counter[str] = Counter()
    for n in range(batch + 1):
        for order in orders(n):
            counted[order["key"]] += order["amount"]
    return dict(counted)


def state_at(bundle: Bundle, checkpoint: int) -> dict[str, int]:
    """Over all partitions, key to total."""
    found = {}
    for task in bundle.tasks():
        state = bundle.state(task, 0, checkpoint)
        for key, value in state["operator"]["default"] if state else []:
            found[key["key"]] = value["sum"]
    return found


def test_a_killed_batch_will_run_again(hdfs: Path, tmp_path: Path) -> None:
    with bundle_of(hdfs / "killed", tmp_path) as bundle:
        told = told_of(bundle)
        assert told["says"][0].startswith(f"Batch {STANDS_STILL_IN} was planned and never committed: it will run again")
        assert [one["committed"] for one in told["batches"]] == [True] * STANDS_STILL_IN + [False]
        completed = [one["checkpoint"] for one in bundle.events() if one["type"] == "checkpoint-completed"]
        triggered = [one["checkpoint"] for one in bundle.events() if one["type"] == "checkpoint-triggered"]
        assert completed == [1, 2] and triggered == [1, 2, 3]
        manifest = bundle.manifest
        assert not manifest.complete and manifest.protocol.observed and manifest.protocol.name == "none"


@pytest.mark.parametrize("provider", ["hdfs", "changelog"])
def test_state_after_each_batch_is_what_was_added_up(provider: str, request: Any, tmp_path: Path) -> None:
    with bundle_of(request.getfixturevalue(provider) / "killed", tmp_path) as bundle:
        for batch in range(STANDS_STILL_IN + 1):
            assert state_at(bundle, batch + 1) == totals_after(batch), batch


def test_snapshots_of_rocksdb_are_named_as_unread(rocksdb: Path, tmp_path: Path) -> None:
    with bundle_of(rocksdb / "killed", tmp_path) as bundle:
        assert all(state_at(bundle, batch + 1) == {} for batch in range(STANDS_STILL_IN + 1))
        (why,) = [line for line in told_of(bundle)["lacks"] if "RocksDB" in line]
        assert "which only RocksDB reads" in why
        assert [str(task) for task in bundle.tasks()] == ["source-0.0", "stateStoreSave-0.0", "stateStoreSave-0.1"]


def test_sources_tell_clock_offset_watermark_and_files_of_each_batch(hdfs: Path, tmp_path: Path) -> None:
    with bundle_of(hdfs / "ended", tmp_path) as bundle:
        batches = told_of(bundle)["batches"]
        for one in batches:
            planned, said = list(bundle.determinants("source-0.0", 0, MAIN, one["batch"]))
            assert planned[2] == Timestamp(one["planned_ms"])
            assert isinstance(said[2], Serializable)
            content = json.loads(said[2].content)
            assert content["offset"] == one["offsets"][0] and content["watermark_ms"] == one["watermark_ms"]
            if one["batch"] < 4:
                assert [Path(file["path"]).name for file in content["files"]] == [f"{one['batch']}.json"]
        watermarks = [one["watermark_ms"] for one in batches]
        assert watermarks == sorted(watermarks) and watermarks[-1] > 1_767_225_600_000


def test_a_file_sink_tells_which_files_it_accepted(hdfs: Path, tmp_path: Path) -> None:
    for name in ("ended", "out"):
        copied(hdfs / name, tmp_path / "both" / name)
    with bundle_of(tmp_path / "both", tmp_path) as bundle:
        logs = [json.loads(line) for path in sorted((hdfs / "out" / "_spark_metadata").glob("[0-9]*"))
                for line in path.read_text().splitlines()[1:]]  # fmt: skip
        assert logs and [line["record"][2] for line in bundle.sink("sink.0", 0)] == logs


def test_a_rate_source_tells_its_offsets(hdfs: Path, tmp_path: Path) -> None:
    with bundle_of(hdfs / "rate", tmp_path) as bundle:
        told = told_of(bundle)
        assert len(told["batches"]) >= 2 and all(one["offsets"][0]["offset"] for one in told["batches"])
        assert any("keeps no state" in line for line in told["lacks"])


def kafka_query(folder: Path, batches: list[dict[str, dict[str, int]]], begins: dict[str, dict[str, int]]) -> Path:
    """As a query over topics leaves it: its source's own log begins with a zero byte (SPARK-19517)."""
    files = {"metadata": json.dumps({"id": "kafka"}), "sources/0/0": f"\0v1\n{json.dumps(begins)}"}
    for n, offsets in enumerate(batches):
        planned = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1_700_000_000_000 + 1_000 * n})
        files[f"offsets/{n}"] = f"v1\n{planned}\n{json.dumps(offsets)}"
        files[f"commits/{n}"] = 'v1\n{"nextBatchWatermarkMs":0}'
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def takes_of(bundle: Bundle, batch: int) -> dict[str, tuple[int, int]]:
    taken = [one for *_, one in bundle.determinants("source-0.0", 0, MAIN, batch) if isinstance(one, Take)]
    partitions = bundle.graph.task("source-0.0").partitions
    return {partitions[one.channel]: (one.first_offset, one.records) for one in taken}


def test_a_kafka_source_tells_what_each_batch_took_of_each_partition(tmp_path: Path) -> None:
    batches = [
        {"orders": {"0": 25, "1": 40}},
        {"orders": {"0": 25, "1": 52}, "returns": {"0": 3}},  # the topic came later: nobody says where it began
        {"orders": {"0": 31, "1": 60}, "returns": {"0": 8}},
    ]
    checkpoint = kafka_query(tmp_path / "query", batches, {"orders": {"0": 5, "1": 40}})
    with bundle_of(checkpoint, tmp_path) as bundle:
        assert takes_of(bundle, 0) == {"orders[0]": (5, 20)}
        assert takes_of(bundle, 1) == {"orders[1]": (40, 12)}
        assert takes_of(bundle, 2) == {"orders[0]": (25, 6), "orders[1]": (52, 8), "returns[0]": (3, 5)}
    # Of a copy whose oldest batches are gone, the first that is left does not begin where the query did.
    for gone in ("offsets/0", "commits/0"):
        (checkpoint / gone).unlink()
    (tmp_path / "later").mkdir()
    with bundle_of(checkpoint, tmp_path / "later") as bundle:
        assert takes_of(bundle, 1) == {} and len(takes_of(bundle, 2)) == 3


def test_it_is_ingested_whole_and_no_verdict_says_identical(hdfs: Path, tmp_path: Path) -> None:
    with bundle_of(hdfs / "killed", tmp_path) as bundle:
        for task in bundle.tasks():
            outcome = replay(bundle, task=str(task), attempt=0, sink=Kept())
            assert outcome.verdict == "unknown", (task, outcome.sentence)
    with closing(open_container(tmp_path / "bundle")) as container:
        write_pack(container, tmp_path / "bundle.pack")
    job, result = ingested_here(tmp_path / "bundle.pack", tmp_path / "data")
    assert rows_of(job, "rejects") == [] and result["status"] == "ready"
    assert {row["checkpoint"] for row in rows_of(job, "checkpoints") if "completed_us" in row} == {1, 2}
