"""A replay whose folder has no room left: one sentence, what was readable stays so, and the next one has room."""

import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.lake.errors import NotPublished
from ingest.lake.step_reader import StepReader
from ingest.launch import ReplayFailed, ReplayRequest, run_replay
from tests.ingest.test_replay_child import pack_of

KIB = 1 << 10
# None even for the first step, some for the first chunk alone, most of it: what is written whole takes 140 KiB.
ROOMS = (4 * KIB, 24 * KIB, 120 * KIB)


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    return pack_of(folder, seed=7, events=8000, kills=("map-1.0@4000",), checkpoint_interval_ms=3000)


def mounting(folder: Path | str) -> list[str]:
    return ["mount", "-t", "tmpfs", "-o", f"size={ROOMS[0]}", "none", str(folder)]


def may_mount() -> bool:
    if shutil.which("mount") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(mounting(folder), capture_output=True, check=False).returncode == 0
        return done and subprocess.run(["umount", folder], check=False).returncode == 0


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of which each test says how much it holds."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(mounting(folder), check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def resize(folder: Path, size_bytes: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size_bytes}", str(folder)], check=True)


FORK = {"fork_step": 900, "change": {"change": "failure", "task": "sink.0"}}
ASKED = {"plain": {}, "hunt": {"hunt": True}, "fork": FORK}


def check_all_that_is_left_is_readable(folder: Path) -> None:
    left = {path for path in folder.rglob("*") if path.is_file()}
    try:
        written = StepReader(folder)
    except NotPublished:
        assert left == set()
        return
    with written:
        assert not written.complete
        assert written.rows("SELECT count(*), max(step) + 1 FROM steps") == [(written.steps, written.steps)]
        named = {path for path in left if path.suffix == ".parquet"}
        assert left - named == {folder / "manifest.json"}
        assert all(path.name.startswith("chunk-") for path in named)


if may_mount():  # only who may mount can have a small disk; elsewhere test_replay_room.py takes the folder away

    @pytest.mark.parametrize(("kind", "room"), [*zip(ASKED, ROOMS, strict=True)])
    def test_a_full_folder_ends_a_replay_with_a_sentence(
        pack: Path, small: Path, tmp_path: Path, kind: str, room: int
    ) -> None:
        resize(small, room)
        steps = small / "steps"
        request = ReplayRequest(pack, steps, task="map-1.0", failure=0, **ASKED[kind])
        with pytest.raises(ReplayFailed) as failed:
            run_replay(request, tmp_path / "replay.log")
        assert str(failed.value) == f"{steps}: No space left on device. Make room, then replay again."
        check_all_that_is_left_is_readable(steps)
        resize(small, 64 << 20)
        outcome = run_replay(request, tmp_path / "replay.log")
        with StepReader(steps) as written:
            assert written.complete and written.steps == outcome["steps"]
        assert sum(path.stat().st_size for path in steps.rglob("*") if path.is_file()) > ROOMS[-1]

    def test_wherever_the_room_ends_what_is_left_is_readable(pack: Path, small: Path, tmp_path: Path) -> None:
        seed = random.randrange(1 << 32)
        for room in random.Random(seed).sample(range(ROOMS[0], ROOMS[-1]), 3):
            resize(small, room)
            with pytest.raises(ReplayFailed, match="No space left on device"):
                run_replay(ReplayRequest(pack, small / "steps", failure=0), tmp_path / "replay.log")
            print(f"seed {seed}, {room} bytes")
            check_all_that_is_left_is_readable(small / "steps")
            shutil.rmtree(small / "steps")
