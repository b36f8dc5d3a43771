"""What a process that lives on has freed is the machine's again, though small things made meanwhile stay."""

import subprocess
import sys

import pytest

FREED = """
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

from ingest.jobs.memory import give_back_what_is_freed

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

if sys.argv[1] == "given back":
    give_back_what_is_freed()
make = {"numpy": lambda size: np.ones(size, np.uint8), "arrow": lambda size: pa.allocate_buffer(size)}[sys.argv[2]]
del (made := {0: make(30 << 20)})[0]  # glibc takes that to mean that such sizes come again
before, small = resident(), []
for _ in range(40):
    made[len(made)] = make(4 << 20)
    small.append(bytes(5000))
    np.frombuffer(made[len(made) - 1], np.uint8).copy()
made.clear()
print((resident() - before) >> 20)
"""


@pytest.mark.parametrize("kind", ["numpy", "arrow"])
def test_what_was_large_and_is_freed_is_given_back(kind: str) -> None:
    def more_mib(way: str) -> int:
        done = subprocess.run([sys.executable, "-c", FREED, way, kind], capture_output=True, text=True, check=True)
        return int(done.stdout)

    assert more_mib("given back") <= 4
    assert more_mib("kept") >= 40, "and else it is not: without it there would be nothing to do"
