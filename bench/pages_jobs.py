"""The jobs whose pages are looked at: one that the engine recorded, and the same with its logs many times over and as
many buffers as wanted. Both are ingested by the command; only the rows of the large one's buffers are made up."""

from __future__ import annotations

import io
import json
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.guarantee_tables import DURATION_US, EPOCHS, made_up_rows, write_table
from bench.server_process import ServerProcess, run_command
from bench.tiled import BLOCK_BYTES, Repeated
from ingest.lake.manifest import LakeManifest, in_table_order
from ingest.lake.publish import published_folder
from ingest.lake.schema import LAKE_TABLES
from ingest.lake.writers import FileSummary, write_rows
from ingest.transforms.growth.channel_rows import ChannelRows
from ingest.transforms.growth.places import Names
from replay.bundle.members import MANIFEST
from replay.log.codec import ends_of
from replay.model import Graph, Manifest

VERTICES = 5
KILLED = "map-2.0"
KILLED_AT_MS = 31_000
COMMAND_WITHIN_S = 3_600
BUFFER_BYTES, RECORDS = 32_768, 100
MADE_UP = "buffers", "sendings", "flows", "seconds"


@dataclass(frozen=True, slots=True)
class Jobs:
    """Their ids, a finished replay of the recorded one, and how many rows the large one has."""

    recorded: str
    large: str
    replay: str
    rows: dict[str, int]


def made(folder: Path, data: Path, *, tasks: int, events: int, determinants: int, buffers: int) -> Jobs:
    """A task fails and is recovered in the middle of a minute; the audit of it has been asked for."""
    small, large = folder / "recorded.tar", folder / "large.tar"
    every_ms = DURATION_US // EPOCHS // 1000
    shape = ("--parallelism", str(tasks), "--depth", str(VERTICES), "--sharing-depth", "1", "--seed", "7")
    pace = ("--events", str(events), "--rate-per-s", str(events * 1_000_000 / DURATION_US))
    times = ("--checkpoint-interval-ms", str(every_ms), "--kill", f"{KILLED}@{KILLED_AT_MS}")
    _command(data, "record", "pass-through", *shape, *pace, *times, "--out", str(small))
    recorded = str(_command(data, "ingest", str(small))["job"])
    _command(data, "audit", recorded, good=(0, 3))
    replay = str(_command(data, "replay", recorded)["replay"])
    multiplied(small, large, determinants)
    job = str(_command(data, "ingest", str(large))["job"])
    large.unlink()
    return Jobs(recorded, job, replay, with_made_up_buffers(data, job, small, buffers))


def _command(data: Path, *arguments: str, good: tuple[int, ...] = (0,)) -> dict[str, Any]:
    ran = run_command(data, *arguments, "--json", within_s=COMMAND_WITHIN_S)
    if ran.status not in good:
        raise SystemExit(f"{' '.join(arguments)} ended with {ran.status}:\n{ran.out}\n{ran.err}")
    print(f"{arguments[0]} is done", flush=True)
    told: dict[str, Any] = json.loads(ran.out.strip().splitlines()[-1])
    return told


def multiplied(bundle: Path, out: Path, determinants: int) -> None:
    """All members, and each main log of a first attempt so many times that all together have as many determinants."""
    with tarfile.open(bundle) as given, tarfile.open(out, "w") as taken:
        members = given.getmembers()
        logs = {one.name: _read(given, one) for one in members if "/0/main/" in one.name and one.size}
        times = max(1, round(determinants / sum(sum(1 for _ in ends_of(data)) for data in logs.values())))
        for one in members:
            if one.name in logs:
                one.size *= times
                repeated = io.BufferedReader(Repeated(logs[one.name], times), BLOCK_BYTES)
                taken.addfile(one, repeated)
            else:
                taken.addfile(one, io.BytesIO(_read(given, one)))


def _read(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member)
    return stream.read() if stream else b""


def with_made_up_buffers(data: Path, job: str, bundle: Path, buffers: int) -> dict[str, int]:
    """In the published version, before anybody reads it; how many rows each table has."""
    with tarfile.open(bundle) as archive:
        names = Names(Graph(Manifest.from_json(_read(archive, archive.getmember(MANIFEST)))))
    rows = made_up_rows(names, max(1, buffers // len(names.graph.channels)))
    folder = published_folder(data, job)
    manifest = LakeManifest.read(folder)
    files = [file for file in manifest.files if file.table not in MADE_UP]
    for file in set(manifest.files) - set(files):
        (folder / file.path).unlink()
    files += [file for table in ("sendings", "buffers") for file in write_table(table, folder, names, rows)]
    files += _rolled_up(folder, names, rows)
    told = LakeManifest(job, in_table_order(files), manifest.log_index, manifest.facts, manifest.rejects)
    told.write(folder)
    return {table: told.rows(table) for table in LAKE_TABLES if told.rows(table)}


def _rolled_up(folder: Path, names: Names, rows: ChannelRows) -> list[FileSummary]:
    """`flows` by epoch and `seconds` by second, of buffers that are all alike and all arrived."""
    flows: list[tuple[Any, ...]] = []
    seconds: list[tuple[Any, ...]] = []
    for channel in sorted(one.id for one in names.graph.channels):
        cut = rows.buffers.whole(channel)["cut_us"]
        for epoch, n in _counted(cut // (DURATION_US // EPOCHS)):
            flows.append((channel, 0, epoch, n, n * BUFFER_BYTES, n * RECORDS, n, n, n, 0))
        for second, n in _counted(cut // 1_000_000):
            seconds.append((channel, second, n, n * BUFFER_BYTES, n * RECORDS, n, 0, n, n))
    parts = (("flows", flows), ("seconds", seconds))
    return [one for table, made in parts for one in write_rows(LAKE_TABLES[table], folder, "part-made-up", made)]


def _counted(values: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    found, counts = np.unique(values, return_counts=True)
    return list(zip(found.tolist(), counts.tolist(), strict=True))


def serving(data: Path) -> ServerProcess:
    """No audit runs beside what is measured."""
    return ServerProcess(data, "--no-demo", environment={"CLONOSCOPE_AUDIT_UNASKED_BYTES": "0"})
