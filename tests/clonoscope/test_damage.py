"""Segments that a disk has damaged: what can be read is published, and nothing that can't be makes the command fail."""

import contextlib
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import clonoscope
from clonoscope import Recording
from clonoscope.publishing import publish
from replay.bundle.reader import open_bundle
from tests.clonoscope.recorded import recording

SEEDS_AT_ONCE = 20


@contextlib.contextmanager
def small_segments() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Recording, "segment_bytes", 4096)
        yield


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As a killed process leaves it: the last segment is not sealed."""
    folder, copy = tmp_path_factory.mktemp("recorded"), tmp_path_factory.mktemp("copy") / "orders"
    with small_segments(), recording(folder) as made:
        task = made.task("p")
        for epoch in range(3):
            with task.epoch(epoch):
                for number in task.records(range(100), epoch * 100, topic="in"):
                    clonoscope.time()
                    clonoscope.random()
                    if number % 10 == 0:
                        clonoscope.external(lambda: {"a": 1})
                        clonoscope.uuid4()
                        task.output(["k", 0, number])
                task.state(epoch + 1, {"n": epoch})
        shutil.copytree(made.folder, copy)
    return copy


def damage(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    at = rng.randrange(len(data) or 1)
    match rng.choice(("flip", "flip", "flip", "cut", "zeros", "junk", "header", "gone")):
        case "flip":
            data[at : at + 1] = bytes([data[at] ^ 1 << rng.randrange(8)]) if data else b""
        case "cut":
            del data[at:]
        case "zeros":
            data[at : at + 64] = bytes(len(data[at : at + 64]))
        case "junk":
            data[at : at + 8] = rng.randbytes(len(data[at : at + 8]))
        case "header":
            at = rng.randrange(64)
            data[at : at + 8] = rng.randbytes(8)
        case "gone":
            path.unlink()
            return
    path.write_bytes(data)


@pytest.mark.parametrize("begin", range(0, 80, SEEDS_AT_ONCE))
def test_a_damaged_recording_is_published_as_far_as_it_can_be_read(begin: int, recorded: Path, tmp_path: Path) -> None:
    for seed in range(begin, begin + SEEDS_AT_ONCE):
        rng = random.Random(seed)
        folder = tmp_path / str(seed) / "orders"
        shutil.copytree(recorded, folder)
        for _ in range(rng.choice((1, 1, 3, 20))):
            if left := sorted(folder.rglob("*.seg")):
                damage(rng.choice(left), rng)
        with open_bundle(publish(folder, tmp_path / f"{seed}.out")) as bundle:
            assert bundle.check_shape() == [], f"seed {seed}"
            for epoch in bundle.epochs("p.0", 0, "main"):
                list(bundle.determinants("p.0", 0, "main", epoch))
            assert len(list(bundle.source("p.0", 0))) <= 400, f"seed {seed}"
            list(bundle.events())
