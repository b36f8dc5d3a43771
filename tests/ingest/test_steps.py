"""Steps of a replay: readable while they are written, the same before and after compaction, and fast."""

import json
import random
import threading
from pathlib import Path

import pytest

from ingest.lake import steps as steps_module
from ingest.lake.errors import NotPublished, QueryTooLong
from ingest.lake.step_columns import FIELDS
from ingest.lake.step_reader import StepReader
from ingest.lake.step_schema import STRETCH_STEPS
from ingest.lake.steps import ParquetStepSink
from ingest.lake.writers import ROWS_AT_ONCE, TableWriter
from replay.debugger.ports import BufferRow, StepRow, step_of
from tests.ingest.processes import wait_until


def a_step(n: int) -> StepRow:
    return StepRow(n, "map-1.0", "main", "deliver-record", "Replaying", n // 50, n % 50, n * 7, None, None,
                   "source.0>map-1.0", n // 10, 14, f"Record {n} is delivered.")  # fmt: skip


class Written:
    """What was given to a sink, to compare with."""

    def __init__(self, sink: ParquetStepSink, seed: int) -> None:
        self.sink = sink
        self.rng = random.Random(seed)
        self.causes: list[tuple[int, str]] = []
        self.changes: list[tuple[int, str, str, str | None, str | None]] = []
        self.buffers: list[BufferRow] = []
        self.taken: list[tuple[int, str, str, int, str | None]] = []
        self.state: dict[tuple[str, str], str] = {}

    def write(self, first: int, end: int) -> None:
        for n in range(first, end):
            causes = {f"step:{self.rng.randrange(n)}" for _ in range(2)} if n else {"event:0"}
            self.causes += [(n, cause) for cause in causes]
            self.sink.step(step_of(a_step(n), causes))
            if self.rng.random() < 0.5:
                self._change(n)
            if n % 10 == 0:
                row = BufferRow(
                    n, "map-1.0", "map-1.0>sink.0", n // 10, 300, self.rng.choice((True, False, None)), True
                )
                self.buffers.append(row)
                self.sink.buffer(row)
            if n % 7 == 0:
                taken = (n, "map-1.0", "timestamp" if n % 2 else "order", n % 5, "idle" if n % 3 else None)
                self.taken.append(taken)
                self.sink.taken(*taken)

    def _change(self, n: int) -> None:
        key = ("map-1.0", f"count/{self.rng.randrange(30)}")
        before, after = self.state.get(key), self.rng.choice((str(n), str(n), None))
        self.state[key] = after
        self.changes.append((n, *key, before, after))
        self.sink.state_changes(n, key[0], [(key[1], before, after)])

    def state_at(self, step: int, prefix: str = "") -> list[tuple[str, str, str, int]]:
        last: dict[tuple[str, str], tuple[str | None, int]] = {}
        for n, task, key, _, after in self.changes:
            if n <= step and key.startswith(prefix):
                last[key, task] = (after, n)
        return [(task, key, value, n) for (key, task), (value, n) in sorted(last.items()) if value is not None]


@pytest.fixture(params=("while written", "complete"))
def replay(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Written, StepReader]:
    sink = ParquetStepSink(tmp_path / "replay")
    written = Written(sink, seed=7)
    for first in range(0, 600, 200):
        written.write(first, first + 200)
        sink._write_chunk()
    if request.param == "complete":
        sink.finish()
    reader = StepReader(tmp_path / "replay")
    assert reader.complete == (request.param == "complete")
    return written, reader


def test_steps_by_number_and_range(replay: tuple[Written, StepReader]):
    _, reader = replay
    assert reader.steps == 600
    assert reader.step(0) == a_step(0)._asdict()
    assert reader.step(599) == a_step(599)._asdict()
    assert reader.step(600) is None
    assert [row["step"] for row in reader.between(195, 205)] == list(range(195, 205))
    assert reader.between(599, 700) == [a_step(599)._asdict()]


def test_state_after_any_step_is_the_last_change_per_key(replay: tuple[Written, StepReader]):
    written, reader = replay
    for step in (0, 1, 17, 199, 200, 345, 599):
        found = [(e.task, e.key, e.value, e.step) for e in reader.state(step)]
        assert found == written.state_at(step)
        found = [(e.task, e.key, e.value, e.step) for e in reader.state(step, prefix="count/1")]
        assert found == written.state_at(step, "count/1")


def test_state_pages_by_key_and_misses_none(replay: tuple[Written, StepReader]):
    written, reader = replay
    for limit in (1, 3, 7):
        found, after = [], None
        while page := reader.state(345, after=after, limit=limit):
            assert len(page) <= limit
            found += [(e.task, e.key, e.value, e.step) for e in page]
            after = (page[-1].key, page[-1].task)
        assert found == written.state_at(345), f"pages of {limit}"


def test_causes_effects_and_why(replay: tuple[Written, StepReader]):
    written, reader = replay
    for step in (0, 1, 250, 599):
        assert reader.causes(step) == sorted(cause for n, cause in written.causes if n == step)
        assert reader.effects(step, limit=1000) == sorted({n for n, cause in written.causes if cause == f"step:{step}"})
    chain = reader.why(599, limit=5000, depth=1000)
    reached, edge = set(), {599}
    while edge:
        found = {(n, cause) for n, cause in written.causes if n in edge}
        reached |= found
        edge = {int(c[5:]) for _, c in found if c.startswith("step:")} - {n for n, _ in reached}
    assert set(chain) == reached
    assert (0, "event:0") in chain


def test_the_ledger_of_buffers_up_to_a_step(replay: tuple[Written, StepReader]):
    written, reader = replay
    found = [tuple(row.values()) for row in reader.buffers(345, limit=1000)]
    assert found == [row for row in reversed(written.buffers) if row[0] <= 345]
    assert reader.buffers(345, channel="nobody>nowhere") == []
    assert len(reader.buffers(599, limit=3)) == 3


def test_what_was_taken_from_the_log(replay: tuple[Written, StepReader]):
    written, reader = replay
    assert reader.version == 4
    assert reader.rows("SELECT * FROM taken ORDER BY step") == written.taken


def test_a_reader_follows_a_replay_that_goes_on(tmp_path: Path):
    with pytest.raises(NotPublished):
        StepReader(tmp_path / "none")
    sink = ParquetStepSink(tmp_path / "replay")
    with pytest.raises(NotPublished):
        StepReader(tmp_path / "replay")
    written = Written(sink, seed=1)
    written.write(0, 10)
    sink._write_chunk()
    early = StepReader(tmp_path / "replay")
    written.write(10, 30)
    assert early.steps == 10
    sink._write_chunk()
    assert StepReader(tmp_path / "replay").steps == 30
    sink.finish()
    # The chunks that the early reader knew are gone by now.
    assert early.between(0, 100)[-1]["step"] == 29


@pytest.mark.processes
def test_the_first_chunk_can_be_read_soon_and_reading_never_fails(tmp_path: Path):
    sink = ParquetStepSink(tmp_path / "replay")
    stop = threading.Event()

    def produce() -> None:
        written, n = Written(sink, seed=3), 0
        while not stop.is_set():
            written.write(n, n + 100)
            n += 100
            stop.wait(0.005)
        sink.finish()

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        wait_until((tmp_path / "replay" / "manifest.json").exists, "a first chunk while more is written", 30.0)
        assert StepReader(tmp_path / "replay").step(0) == a_step(0)._asdict()
    finally:
        stop.set()
        failed = reads_until(producer, tmp_path / "replay")
        producer.join()
    assert failed == []
    assert StepReader(tmp_path / "replay").complete


def reads_until(producer: threading.Thread, folder: Path) -> list[str]:
    """Reads again and again while the end is compacted under the reader's feet."""
    failed = []
    while producer.is_alive():
        reader = StepReader(folder)
        try:
            if len(reader.between(0, 20)) != 20 or not reader.state(10_000):
                failed.append("something is missing")
        except Exception as fault:
            failed.append(repr(fault))
    return failed


def test_flushing_at_every_step_does_not_make_a_file_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(steps_module, "SHORTEST_CHUNK_S", 3600.0)
    sink = ParquetStepSink(tmp_path / "replay")
    for n in range(50):
        sink.step(step_of(a_step(n)))
        sink.flush()
    assert len(list((tmp_path / "replay" / "steps").glob("*.parquet"))) == 1
    sink.finish()
    assert StepReader(tmp_path / "replay").steps == 50


def test_a_replay_without_steps_reads_as_empty(tmp_path: Path):
    ParquetStepSink(tmp_path / "replay").finish()
    reader = StepReader(tmp_path / "replay")
    assert (reader.steps, reader.complete) == (0, True)
    assert reader.step(0) is None
    assert reader.state(0) == []
    assert reader.effects(0) == reader.why(0) == reader.buffers(0) == []


def test_values_are_bound_and_queries_end_in_time(tmp_path: Path):
    sink = ParquetStepSink(tmp_path / "replay")
    Written(sink, seed=2).write(0, 50)
    sink.finish()
    reader = StepReader(tmp_path / "replay")
    assert reader.state(49, prefix="' OR true --") == []
    with pytest.raises(QueryTooLong):
        reader.rows(
            "SELECT count(*) FROM range(10000000) a, range(1000000) b WHERE a.range + b.range = 3", timeout_s=0.3
        )


@pytest.mark.parametrize("marked", [True, False])
def test_state_is_the_same_from_marks_and_from_all_changes(tmp_path: Path, marked: bool):
    sink = ParquetStepSink(tmp_path / "replay")
    written = Written(sink, seed=11)
    for n in range(2 * STRETCH_STEPS + 500):
        sink.step(step_of(a_step(n)))
        if n % 997 == 0 or abs(n - STRETCH_STEPS) < 40:
            written._change(n)
    sink.finish()
    manifest = tmp_path / "replay" / "manifest.json"
    if not marked:  # as version 2 left it
        document = json.loads(manifest.read_text())
        del document["files"]["state_marks"]
        manifest.write_text(json.dumps(document | {"steps_version": 2}))
    reader = StepReader(tmp_path / "replay")
    places = (
        0,
        STRETCH_STEPS - 40,
        STRETCH_STEPS - 1,
        STRETCH_STEPS,
        STRETCH_STEPS + 1,
        2 * STRETCH_STEPS,
        reader.steps,
    )
    for step in (*places, *(written.rng.randrange(reader.steps) for _ in range(20))):
        found = [(e.task, e.key, e.value, e.step) for e in reader.state(step)]
        assert found == written.state_at(step), f"seed 11, step {step}"
        assert reader.state(step, prefix="count/1", limit=3) == reader.state(step, prefix="count/1")[:3]


def test_what_ends_a_replay_in_the_middle_of_a_chunk_leaves_what_was_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    sink = ParquetStepSink(tmp_path / "replay")
    Written(sink, seed=3).write(0, 100)
    sink._write_chunk()
    Written(sink, seed=3).write(100, 200)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(TableWriter, "_add_batch", full)
        with pytest.raises(OSError, match="No space left"):
            sink._write_chunk()
    sink.keep()
    reader = StepReader(tmp_path / "replay")
    assert (reader.steps, reader.complete, sink.steps) == (100, False, 100)
    assert [row["step"] for row in reader.between(0, 200)] == list(range(100))
    assert not list((tmp_path / "replay").glob("*/.*.tmp"))


def test_rows_go_to_the_disk_as_they_come_and_are_not_all_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("FIRST_CHUNK_S", "NEXT_CHUNK_S"):
        monkeypatch.setattr(steps_module, name, 3600.0)
    sink = ParquetStepSink(tmp_path / "replay")
    most = 0
    for n in range(50_000):
        sink.step(step_of(a_step(n)))
        sink.state_changes(n, "map-1.0", [("count", str(n), str(n + 1))])
        most = max(most, len(sink._fields) // FIELDS, len(sink._changes))
    assert most <= ROWS_AT_ONCE + steps_module.LOOK_EVERY_STEPS
    sink.finish()
    assert StepReader(tmp_path / "replay").rows("SELECT count(*), max(step) FROM state_changes") == [(50_000, 49_999)]
