"""Arrays in memory and in files: the same numbers, however many, and an error where the disk has no room."""

import random
import resource
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from ingest.transforms.growth import spool as spools
from ingest.transforms.growth.spool import Spool


@pytest.mark.parametrize("seed", range(12))
def test_what_is_kept_stays_what_it_was(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    monkeypatch.setattr(spools, "IN_MEMORY_BYTES", draw.choice((0, 3000, 1 << 20)))
    monkeypatch.setattr(spools, "SEGMENT_BYTES", draw.choice((512, 20_000)))
    numbers = np.random.default_rng(seed)
    with closing(Spool(tmp_path / "kept")) as spool:
        heap, added, kept = spool.heap(), list[int](), []
        for _ in range(60):
            array = numbers.integers(-9, 9, draw.choice((0, 1, 70, 900))).astype(draw.choice((np.int64, np.int32)))
            kept.append((array.copy(), spool.keep(array)))
            heap.add(array)
            added += array.tolist()
            if draw.random() < 0.3:
                assert heap.all().tolist() == added, f"seed {seed}"
                spool.let_go()
        for wanted, found in kept:
            assert found.dtype == wanted.dtype and np.array_equal(found, wanted), f"seed {seed}"
        assert heap.all().tolist() == added and len(heap) == len(added), f"seed {seed}"
    assert all(np.array_equal(wanted, found) for wanted, found in kept), "closing took away what is looked at"


NO_ROOM = """
import sys
from pathlib import Path

import numpy as np

from ingest.transforms.growth import spool

spool.IN_MEMORY_BYTES, spool.SEGMENT_BYTES = 0, 1 << 20
made = spool.Spool(Path(sys.argv[1]))
put = made.keep if sys.argv[2] == "array" else made.heap().add
try:
    for _ in range(100):
        put(np.arange(1000))
except OSError as fault:
    print(fault.strerror)
"""


@pytest.mark.parametrize("into", ["array", "heap"])
def test_where_there_is_no_room_is_an_error_and_not_the_end(into: str, tmp_path: Path) -> None:
    """A file that may not grow does for a disk that is full."""

    def few_bytes() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    line = [sys.executable, "-c", NO_ROOM, str(tmp_path / "full"), into]
    ran = subprocess.run(line, capture_output=True, text=True, preexec_fn=few_bytes, check=False)
    assert (ran.returncode, ran.stdout) == (0, "File too large\n"), ran.stderr
