"""Bundles of millions of determinants: real logs of a recorded job, one behind the other as often as it takes."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from replay.bundle.container import Container
from replay.bundle.containers import open_container
from replay.bundle.pack import write_pack
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.log.codec import ends_of
from replay.protocols import PROTOCOLS

BLOCK_BYTES = 1 << 20
SHAPES = ("even", "uneven", "small")


@dataclass(frozen=True, slots=True)
class Tile:
    """What stands in a log again and again."""

    data: bytes
    determinants: int

    @classmethod
    def of(cls, data: bytes) -> Tile:
        return cls(data, sum(1 for _ in ends_of(data)))

    @property
    def bytes_each(self) -> float:
        return len(self.data) / self.determinants


@dataclass(frozen=True, slots=True)
class Tiles:
    """Of a recorded job: its manifest, a tile of all main logs and one of the outputs' logs; and of each the first few
    determinants, for logs that are tiny."""

    manifest: bytes
    main: Tile
    outputs: Tile
    tiny: Tile
    tasks: tuple[str, ...]

    @classmethod
    def recorded(cls, job: str = "nexmark-q1", events: int = 20_000) -> Tiles:
        with tempfile.TemporaryDirectory(prefix="clonoscope-bench-") as folder:
            out = Path(folder) / "job.tar"
            options = RecordOptions(job=job, seed=1, events=events, parallelism=4)
            record(options, out, protocols=PROTOCOLS)
            with open_container(out) as container:
                members = {name: stream.read() for name, _, stream in container.members()}
        logs = {"main": b"", "out": b""}
        for name, data in sorted(members.items()):
            if name.endswith(".det"):
                logs["main" if "/main/" in name else "out"] += data
        some = logs["main"][: list(_first(ends_of(logs["main"]), 10))[-1]]
        tasks = tuple(sorted({name.split("/")[1] for name in members if name.startswith("tasks/")}))
        return cls(members["job.json"], Tile.of(logs["main"]), Tile.of(logs["out"]), Tile.of(some), tasks)


def _first(ends: Iterator[int], count: int) -> Iterator[int]:
    return (end for end, _ in zip(ends, range(count), strict=False))


@dataclass(frozen=True, slots=True)
class Member:
    """A tile so many times."""

    name: str
    tile: Tile
    times: int

    @property
    def bytes(self) -> int:
        return len(self.tile.data) * self.times


def members_of(tiles: Tiles, determinants: int, shape: str) -> list[Member]:
    """`even`: 64 main logs; `uneven`: one log with 3 of 5 determinants, thousands of tiny ones, outputs for the rest;
    `small`: nothing but tiny ones."""
    if shape == "even":
        return _even(tiles, determinants, 64)
    tiny = determinants // tiles.tiny.determinants if shape == "small" else 20_000
    names = _names(tiles, "main")
    found = [Member(next(names), tiles.tiny, 1) for _ in range(tiny)]
    if shape == "uneven":
        found.append(Member(next(names), tiles.main, determinants * 3 // 5 // tiles.main.determinants))
        outputs = _names(tiles, "out-0")
        each = determinants * 2 // 5 // 8 // tiles.outputs.determinants
        found += [Member(next(outputs), tiles.outputs, each) for _ in range(8)]
    return found


def _even(tiles: Tiles, determinants: int, logs: int) -> list[Member]:
    names = _names(tiles, "main")
    times = max(1, round(determinants / logs / tiles.main.determinants))
    return [Member(next(names), tiles.main, times) for _ in range(logs)]


def _names(tiles: Tiles, thread: str) -> Iterator[str]:
    tasks = [task for task in tiles.tasks if thread == "main" or not task.startswith("sink")]
    epoch = 0
    while True:
        yield from (f"tasks/{task}/0/{thread}/{epoch}.det" for task in tasks)
        epoch += 1


class Tiled(Container):
    """The members as a container, made as they are read."""

    kind = "tiled"

    def __init__(self, tiles: Tiles, members: list[Member]) -> None:
        self.tiles, self._members = tiles, members

    def members(self) -> Iterator[tuple[str, int, io.BufferedReader | io.BytesIO]]:
        manifest = self.tiles.manifest
        yield "job.json", len(manifest), io.BytesIO(manifest)
        for one in self._members:
            yield one.name, one.bytes, io.BufferedReader(Repeated(one.tile.data, one.times), BLOCK_BYTES)

    def close(self) -> None:
        pass


class Repeated(io.RawIOBase):
    def __init__(self, tile: bytes, times: int) -> None:
        super().__init__()
        copies = max(1, min(times, BLOCK_BYTES // len(tile)))
        self._block, self._left, self._at = memoryview(tile * copies), len(tile) * times, 0

    def readable(self) -> bool:
        return True

    def readinto(self, target: memoryview, /) -> int:  # type: ignore[override]
        count = min(len(target), self._left, len(self._block) - self._at)
        target[:count] = self._block[self._at : self._at + count]
        self._left -= count
        self._at = (self._at + count) % len(self._block)
        return count


def write_tiled(tiles: Tiles, determinants: int, shape: str, out: Path) -> tuple[int, int]:
    """Writes a pack; returns how many determinants and how many bytes of them there are."""
    members = members_of(tiles, determinants, shape)
    with Tiled(tiles, members) as container:
        write_pack(container, out)
    return sum(one.tile.determinants * one.times for one in members), sum(one.bytes for one in members)
