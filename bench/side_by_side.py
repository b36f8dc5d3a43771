"""What one side costs beside another whoever else uses the machine: both go in turn, a slice of records at a time.

Each side tells the processor's time of its slices; sides that can't stand in one process are processes that wait for
one another. Periods of as many slices as all that happens now and then (a commit, an epoch's end) are compared in
pairs, and of their ratios the median counts.
"""

from __future__ import annotations

import contextlib
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

SLICE_RECORDS = 200


class Watch:
    """A side's: the processor's time of each slice. With a partner, it waits for its turn after each of them."""

    def __init__(self, records: int, partner: tuple[TextIO, TextIO] | None = None):
        self.records, self.seen = records, 0
        self._partner = partner
        self._began_s = time.process_time()

    def tick(self, *_: Any) -> None:
        """A record is done."""
        self.seen += 1
        if self.seen % SLICE_RECORDS == 0 and self._partner is not None:
            now_s = time.process_time()
            asking, telling = self._partner
            print(now_s - self._began_s, file=telling, flush=True)
            # What the threads of its libraries do meanwhile is put down to the slice that follows.
            self._began_s = now_s
            asking.readline()


def take_turns(sides: Sequence[Sequence[str]], slices: int) -> tuple[list[list[float]], list[dict[str, Any]]]:
    """Runs a command for each side; gives the seconds of their slices, and what each says at its end, as JSON."""
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(_running(command)) for command in sides]
        took: list[list[float]] = [[] for _ in sides]
        for number in range(slices):
            # Whoever goes second finds its data where the other left it: each does so as often.
            for side in range(len(sides)) if number % 2 else reversed(range(len(sides))):
                reading, writing = _pipes(running[side])
                took[side].append(float(reading.readline()))
                if number + 1 < slices:
                    print(file=writing, flush=True)
        ends = []
        for process in running:
            said, _ = process.communicate("\n")
            assert process.returncode == 0, f"a side ended with status {process.returncode}"
            ends.append(json.loads(said.splitlines()[-1]))
    return took, ends


@contextlib.contextmanager
def _running(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _pipes(process: subprocess.Popen[str]) -> tuple[TextIO, TextIO]:
    assert process.stdin is not None and process.stdout is not None
    return process.stdout, process.stdin  # type: ignore[return-value]


def periods(slices: Sequence[float], length: int) -> list[float]:
    """What so many slices took together, one after the other; what is left at the end is left out."""
    return [sum(slices[at : at + length]) for at in range(0, len(slices) - length + 1, length)]


def compared(plain: Sequence[float], other: Sequence[float]) -> dict[str, Any]:
    """The share of throughput that is left: the median of pairs, and the interval that holds it 19 times of 20."""
    shares = sorted(one / two for one, two in zip(plain, other, strict=True))
    half = 0.98 * math.sqrt(len(shares))
    low, high = max(0, int(len(shares) / 2 - half)), min(len(shares) - 1, math.ceil(len(shares) / 2 + half))
    return {
        "throughput_left": round(statistics.median(shares), 4),
        "interval": [round(shares[low], 4), round(shares[high], 4)],
        "by_totals": round(sum(plain) / sum(other), 4),
        "pairs": len(shares),
    }


def p99_us(slices: Sequence[float], records: int = SLICE_RECORDS) -> float:
    """Of a slice, by its records: what a single one takes is less than a clock can tell."""
    return statistics.quantiles(slices, n=100)[-1] / records * 1e6
