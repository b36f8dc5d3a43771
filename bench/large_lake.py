"""The tables of a job with as many determinants as wanted, made by the ingest; who held its logs is written beside."""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.without_spark import ingest_here
from ingest.lake.manifest import LakeManifest, in_table_order
from ingest.lake.publish import publish
from ingest.lake.readers import Lake
from ingest.lake.schema import LAKE_TABLES
from ingest.lake.writers import FileSummary, TableWriter
from replay.bundle.container import Container, Readable
from replay.bundle.pack import write_pack
from replay.bundle.reader import open_bundle
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.log.codec import decode_all
from replay.protocols import PROTOCOLS

JOB = "j_1"
EPOCHS = 16
HOLDERS = 8
GROWTHS_PER_DETERMINANT = 0.02
LAST_US = 600_000_000


def made_large(data: Path, determinants: int, seed: int) -> None:
    """Publishes the job below `data`, and notes beside it where one may ask."""
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    tiled = _Tiled.recorded(data, determinants)
    write_pack(tiled, data / "pack")
    staging = data / "staging"
    ingest_here(JOB, data / "pack", staging)
    (data / "pack").unlink()
    manifest = LakeManifest.read(staging)
    files = [file for file in manifest.files if file.table != "holders"]
    logs = sorted((epoch, task) for epoch in range(EPOCHS) for task in tiled.tasks)
    files += _holders(staging, logs, tiled.tasks, int(determinants * GROWTHS_PER_DETERMINANT), random.Random(seed))
    dataclasses.replace(manifest, files=in_table_order(files)).write(staging)
    publish(data, staging, JOB, "w", 0)
    counts = Lake(data).rows(
        "SELECT task, attempt, thread, epoch, determinants FROM epochs WHERE determinants > 0", job=JOB
    )
    places = {
        "logs": [[*row, LAST_US] for row in counts],
        "tasks": [(task, task.partition(".")[0]) for task in tiled.tasks],
    }
    (data / "places.json").write_text(json.dumps(places))


class _Tiled(Container):
    """A bundle whose main logs are those of a recorded job, one behind the other as often as it takes."""

    kind = "tiled"

    def __init__(self, manifest: bytes, tasks: list[str], tile: bytes, times: int) -> None:
        self._manifest, self.tasks, self._tile, self._times = manifest, tasks, tile, times

    @classmethod
    def recorded(cls, folder: Path, determinants: int) -> _Tiled:
        options = RecordOptions(job="nexmark-q1", seed=1, events=1_500, parallelism=4)
        record(options, folder / "recorded", protocols=PROTOCOLS)
        with open_bundle(folder / "recorded") as bundle:
            names = [one for one in bundle.members.names() if "/main/" in one]
            tile = b"".join(map(bundle.members.read, names))
            manifest, tasks = bundle.members.read("job.json"), [str(task) for task in bundle.tasks()]
        shutil.rmtree(folder / "recorded")
        each = sum(1 for _ in decode_all(tile, "tile"))
        return cls(manifest, tasks, tile, max(1, round(determinants / (len(tasks) * EPOCHS * each))))

    def members(self) -> Iterator[tuple[str, int, Readable]]:
        yield "job.json", len(self._manifest), BytesIO(self._manifest)
        for task in self.tasks:
            for epoch in range(EPOCHS):
                data = self._tile * self._times
                yield f"tasks/{task}/0/main/{epoch}.det", len(data), BytesIO(data)

    def close(self) -> None:
        """Nothing is open."""


def _holders(
    staging: Path, logs: list[tuple[int, str]], tasks: list[str], growths: int, rng: random.Random
) -> list[FileSummary]:
    """In the table's order: of each log what each holder had from when on, at moments of its own."""
    writer = TableWriter(LAKE_TABLES["holders"], staging, "part-00000")
    each = max(4, growths // (len(logs) * HOLDERS))
    for epoch, task in logs:
        for holder in sorted(rng.sample([one for one in tasks if one != task], min(HOLDERS, len(tasks) - 1))):
            moments = np.sort(np.random.default_rng(rng.getrandbits(32)).integers(0, LAST_US // 2, each))
            upto = np.cumsum(np.full(each, 64))
            told: dict[str, Any] = {"task": task, "attempt": 0, "thread": "main", "epoch": epoch, "holder": holder}
            writer.add({**told, "holder_attempt": 0, "t_us": pa.array(moments), "upto": pa.array(upto)}, each)
    return writer.close()
