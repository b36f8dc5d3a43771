"""The tables `holders` and `frontiers` against `replay.causality`, row for row, on random worlds with failures."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ingest.jobs import finish as finishing
from ingest.jobs.causal_tables import write_causal_tables
from ingest.lake.readers import PublishedJob
from replay.bundle.containers import open_container
from replay.bundle.pack import write_pack
from replay.bundle.reader import Bundle, open_bundle
from replay.causality.frontiers import frontiers
from replay.causality.holders import holders
from tests.ingest.inprocess import ingested_here
from tests.ingest.made import random_recording
from tests.replay.debugger.worlds import bundle_of, world_of


def packed(seed: int, folder: Path) -> Path:
    """The recording of a random world as a pack."""
    _, members = world_of(seed)
    for name, data in members.members.items():
        path = folder / "bundle" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    container = open_container(folder / "bundle")
    try:
        write_pack(container, folder / "bundle.pack")
    finally:
        container.close()
    return folder / "bundle.pack"


def held(bundle: Bundle) -> Counter[tuple[Any, ...]]:
    return Counter(
        (one.task, one.attempt, one.thread, one.epoch, one.holder, one.holder_attempt, one.t_us, one.upto)
        for task in bundle.tasks()
        for one in holders(bundle, task).growths
    )


def depended(bundle: Bundle) -> Counter[tuple[Any, ...]]:
    return Counter(
        (one.task, one.attempt, one.t_us, one.of_task, one.thread, one.epoch, one.upto) for one in frontiers(bundle)
    )


def agree(job: PublishedJob, bundle: Bundle, why: str) -> int:
    """How many rows were compared."""
    for table, expected in (("holders", held(bundle)), ("frontiers", depended(bundle))):
        found = Counter(job.rows(f"SELECT * FROM {table}"))
        assert found == expected, (table, found - expected, expected - found, why)
    return sum(held(bundle).values()) + sum(depended(bundle).values())


@pytest.mark.parametrize("seed", range(1, 17))
def test_the_tables_are_what_plain_python_derives(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path)


def check(seed: int, folder: Path) -> int:
    """Of a random world, in one part or in many."""
    world, members = world_of(seed)
    job, _ = ingested_here(packed(seed, folder), folder / "data", part_bytes=(None, 20_000)[seed % 2])
    return agree(job, bundle_of(members), world.reproduce_with)


@pytest.mark.parametrize("seed", range(4))
def test_members_that_no_engine_made_are_followed_as_well(seed: int, tmp_path: Path) -> None:
    """Receipts in any order, buffers that nobody cut, attempts of which no event tells. Their deltas contradict one
    another, which tables without the bytes can't show: what was held of them nobody knows."""
    pack = random_recording(seed, layout="grouping" if seed % 2 else "flat").pack(tmp_path)
    job, _ = ingested_here(pack, tmp_path / "data")
    with open_bundle(pack) as bundle:
        expected = depended(bundle)
    assert expected and Counter(job.rows("SELECT * FROM frontiers")) == expected, f"seed {seed}"


def test_rows_are_stored_by_place_and_in_time(tmp_path: Path) -> None:
    job, _ = ingested_here(packed(10, tmp_path), tmp_path / "data")
    tasks = {task: n for n, task in enumerate(bundle_of(world_of(10)[1]).tasks())}
    for table, task in (("holders", "task"), ("frontiers", "of_task")):
        rows = job.rows(f"SELECT epoch, {task}, thread FROM {table}")
        keys = [(epoch, tasks[of], 0 if thread == "main" else 1 + int(thread[4:])) for epoch, of, thread in rows]
        assert keys == sorted(keys)
    runs: dict[tuple[Any, ...], int] = {}
    for *run, t_us in job.rows("SELECT task, thread, epoch, holder, holder_attempt, t_us FROM holders"):
        assert runs.get(tuple(run), 0) <= t_us
        runs[tuple(run)] = t_us


@pytest.mark.parametrize("seed", range(17, 25))
def test_it_does_not_matter_how_many_rows_are_followed_at_once(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor how many are read, looked at to part them, or written at once."""
    at_once(random.Random(seed), monkeypatch.setattr)
    check(seed, tmp_path)


def at_once(draw: random.Random, put: Callable[[str, int], None]) -> None:
    """Few of everything, in files or not; `put` sets what modules are given by name."""
    put("ingest.transforms.growth.growing.ROWS_AT_ONCE", draw.choice((1, 5, 40)))
    put("ingest.transforms.growth.windows.LOOKED_AT", draw.choice((1, 20, 1000)))
    put("ingest.transforms.growth.in_order.ROWS_AT_ONCE", draw.choice((1, 7, 100)))
    put("ingest.transforms.growth.in_order.RUNS_AT_ONCE", draw.choice((1, 3, 100)))
    put("ingest.transforms.growth.spool.IN_MEMORY_BYTES", draw.choice((0, 10_000, 1 << 20)))
    put("ingest.transforms.growth.spool.SEGMENT_BYTES", draw.choice((1 << 14, 1 << 20)))
    put("ingest.jobs.causal_tables.BATCH_ROWS", draw.choice((1, 30, 1000)))


class Ends(Exception):
    """Somebody cancels."""


@pytest.mark.parametrize("seed", [1, 4])
def test_rows_are_told_as_they_are_done_and_whoever_is_told_may_end_it(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(random.Random(seed), monkeypatch.setattr)
    told: list[tuple[str, int, int]] = []
    upto = None

    def tell(*one: Any) -> None:
        told.append(one)
        if len(told) == upto:
            raise Ends

    pack = packed(seed, tmp_path)
    monkeypatch.setattr(finishing, "write_causal_tables", partial(told_causal_tables, tell))
    ingested_here(pack, tmp_path / "data")
    whats = list(dict.fromkeys(what for what, _, _ in told))
    assert whats == ["Following what arrived", "Writing holders", "Writing frontiers"]
    for what in whats:
        done = [(done, total) for one, done, total in told if one == what]
        assert done == sorted(done) and len({total for _, total in done}) == 1 and done[-1][0] == done[-1][1] > 0
    upto = random.Random(seed).randrange(1, len(told))
    told.clear()
    with pytest.raises(Ends):
        ingested_here(pack, tmp_path / "again")
    assert len(told) == upto and not list(tmp_path.rglob("growing"))


def told_causal_tables(tell: Any, staging: Path, manifest: Any, files: Any, _: Any) -> Any:
    return write_causal_tables(staging, manifest, files, tell)


def test_what_does_not_fit_into_memory_lies_in_files_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []
    mkdir = Path.mkdir
    monkeypatch.setattr(Path, "mkdir", lambda path, *some, **more: (made.append(path), mkdir(path, *some, **more))[1])
    monkeypatch.setattr("ingest.transforms.growth.spool.IN_MEMORY_BYTES", 0)
    check(13, tmp_path)
    assert any(path.name == "growing" for path in made)
    assert not list(tmp_path.rglob("growing"))
