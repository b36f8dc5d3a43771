"""Versions of a growing recording: the last one is as if it had been ingested at once, and what is settled stays."""

from __future__ import annotations

import json
import random
from contextlib import closing
from pathlib import Path

import pytest

from bench.growing import Growth
from ingest.jobs.segments import Segment, kept_beside
from ingest.lake.readers import PublishedJob
from ingest.lake.schema import LAKE_TABLES
from replay.bundle.containers import open_container
from replay.bundle.growing_folder import GrowingFolder
from replay.bundle.growing_pack import GrowingPack
from replay.bundle.limits import Limits
from replay.bundle.pack import write_pack
from tests.ingest.inprocess import ingested_here, next_version, rows_of
from tests.ingest.made import random_recording


def _sorted_rows(job: PublishedJob, table: str) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True, default=repr) for row in rows_of(job, table))


@pytest.mark.parametrize("epochwise", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_what_was_followed_to_its_end_is_what_is_ingested_at_once(tmp_path: Path, seed: int, epochwise: bool) -> None:
    rng = random.Random(seed)
    made = random_recording(seed, epochs=5, buffers=4, layout=rng.choice(("flat", "grouping")))
    if seed % 2:  # what is torn or damaged at the end must be told as ever
        for name in rng.sample(sorted(made.members), 3):
            made.members[name] = made.members[name][:-1] + rng.choice((b"", b"\xff" * 9))
    growth = Growth(made.manifest, made.members, tmp_path / "growing", rng, epochwise=epochwise)
    pack, versions = tmp_path / "j.pack", 0
    growing = GrowingPack(pack)
    folder = GrowingFolder(growth.folder, growing, Limits())
    while growth.left:
        growth.grow(0.25)
        folder.look()
        if rng.random() < 0.3:  # killed before it published, and begun again
            growing.close()
            growing = GrowingPack(pack)
            folder = GrowingFolder(growth.folder, growing, Limits())
            folder.look()
        growing.publish()
        next_version(pack, tmp_path / "data", versions, segment_bytes=1)
        versions += 1
    growth.write_manifest(complete=True)
    folder.look()
    folder.settle()
    growing.publish()
    growing.close()
    followed, result = next_version(pack, tmp_path / "data", versions, segment_bytes=1)
    with closing(open_container(growth.folder)) as container:
        summary = write_pack(container, tmp_path / "whole.pack")
    at_once, expected = ingested_here(tmp_path / "whole.pack", tmp_path / "other")
    assert folder.complete and versions > 2
    for table in LAKE_TABLES:
        assert _sorted_rows(followed, table) == _sorted_rows(at_once, table), f"seed {seed}: {table}"
    del result["decoded"], expected["parts"]
    assert result == expected, f"seed {seed}"
    with closing(GrowingPack(pack)) as kept:
        assert kept.publish().content_id == summary.content_id


def test_what_is_settled_is_not_decoded_again_and_shares_its_files(tmp_path: Path) -> None:
    made = random_recording(5, epochs=6, buffers=8)
    growth = Growth(made.manifest, made.members, tmp_path / "growing", random.Random(5), epochwise=True)
    decoded, shared = 0, 0
    before: dict[int, Path] = {}
    with closing(GrowingPack(tmp_path / "j.pack")) as growing:
        folder = GrowingFolder(growth.folder, growing, Limits())
        for version in range(6):
            growth.grow(0.17)
            folder.look()
            growing.publish()
            job, result = next_version(growing.path, tmp_path / "data", version, segment_bytes=1)
            assert rows_of(job, "rejects") == []
            decoded += result["decoded"]
            files = {path.stat().st_ino: path for path in (job.folder / "determinants").glob("*.parquet")}
            shared += len(before.keys() & files.keys())
            before = files
    at_each_version_all = sum(range(1, 7)) / 6 * sum(map(len, made.members.values()))
    assert shared >= 6
    assert decoded < 0.75 * at_each_version_all


def _segment(size: int) -> Segment:
    return Segment({}, {}, {}, size, 0)


def test_segments_of_a_size_are_put_together_by_eights() -> None:
    """So that after a million additions there are few, and each byte was decoded but a few times."""
    segments, decoded = list[Segment](), 0
    for _ in range(5_000):
        kept = kept_beside(segments, 1 << 20)
        together = sum(one.bytes for one in segments[len(kept) :]) + (1 << 20)
        decoded += together
        segments = [*kept, _segment(together)]
    assert sum(one.bytes for one in segments) == 5_000 << 20
    assert len(segments) < 5_000 / 7
    assert decoded < 4 * (5_000 << 20)
