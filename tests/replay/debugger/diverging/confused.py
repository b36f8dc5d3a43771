"""Operators that part from their recording for one reason, and do much that looks like another.

`python -c "from tests.replay.debugger.diverging.confused import main; main()" --plants 100` prints which reason was
told for which.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from replay.debugger.outcome import Outcome
from replay.debugger.replay import replay
from replay.jobs import registry
from replay.model import Record
from replay.runtime.operators import Context
from tests.replay.debugger.diverging import planted
from tests.replay.debugger.diverging.plants import buffer_byte, determinant_changed, sink_altered
from tests.replay.debugger.worlds import MemoryMembers, bundle_of

VARIABLE = "CLONOSCOPE_TEST_CONFUSED"
SMALL = {"events": 160, "parallelism": 1, "checkpoint_interval_ms": 15, "kills": ("map-1.0@24",)}
CODES = {
    "clock": "unlogged-clock",
    "random": "unlogged-random",
    "environment": "unlogged-environment",
    "file": "unlogged-file",
    "identity": "unlogged-choice",
    "order": "iteration-order",
    "changed": "operator-changed",
    "damage": "corrupt-recording",
    "determinant": "corrupt-recording",
}
CALLS = {"clock": "time.time_ns", "random": "random.", "environment": "os.environ", "file": "open", "identity": "id()"}
NOISE = ("clock", "random", "environment", "file", "identity", "order")
KEPT: list[Any] = []
_RECORD = """
import sys
from pathlib import Path
from tests.replay.debugger.diverging.confused import write
write(int(sys.argv[1]), Path(sys.argv[2]))
"""


class Confused(planted.Sound):
    """Reads what `noise` names at every record and does nothing with it; `cause` comes into every so many-th."""

    cause = ""
    noise: tuple[str, ...] = ()
    every = 1
    narrow = False
    path = Path()

    def open(self, context: Context) -> None:
        super().open(context)
        self.seen = 0

    def on_record(self, record: Record, context: Context) -> None:
        self.seen += 1
        self.metrics = [self.read(one) for one in self.noise]
        value = self.read(self.cause) if self.seen % self.every == 0 else "sound"
        context.emit(Record(record.key, record.timestamp, [self.seen, value]))

    def read(self, what: str) -> Any:
        match what:
            case "clock":
                return time.time_ns() % 7 if self.narrow else time.time_ns()
            case "random":
                return random.randrange(3) if self.narrow else random.randrange(10**8, 10**9)
            case "environment":
                return os.environ.get(VARIABLE)
            case "file":
                return self.path.read_text("utf-8")
            case "identity":
                KEPT.append(object())
                return id(KEPT[-1])
            case "order":
                return list({f"{n}-{self.seen}" for n in range(8)})
        return self.otherwise()

    def otherwise(self) -> str:
        return "sound"

    def snapshot(self) -> dict[str, Any]:
        return {"seen": self.seen}

    def restore(self, state: Any) -> None:
        self.seen = state["seen"]


class ConfusedOtherwise(Confused):
    def otherwise(self) -> str:
        return "soune"


@contextmanager
def chosen(seed: int, *, again: bool) -> Iterator[tuple[str, random.Random]]:
    """What the plant of that seed is, with its operator in place: as it was recorded, or as it is replayed."""
    rng = random.Random(f"confused {seed}")
    cause = list(CODES)[seed % len(CODES)]
    noise = tuple(sorted(rng.sample(NOISE, rng.choice((0, 0, 1, 1, 2, 3)))))
    kind = ConfusedOtherwise if again and cause == "changed" else Confused
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rate.txt"
        file.write_text("2" if again and cause == "file" else "1", "utf-8")
        patch.setenv(VARIABLE, "eur2" if again and cause == "environment" else "eur1")
        for name, value in {
            "cause": cause, "noise": tuple(one for one in noise if one != cause), "path": file,
            "every": rng.choice((1, 1, 2, 5)), "narrow": rng.random() < 0.3,
        }.items():  # fmt: skip
            patch.setattr(Confused, name, value)
        patch.setitem(registry.OPERATORS, planted.NAME, kind)
        yield cause, rng


def recorded(seed: int) -> MemoryMembers:
    with chosen(seed, again=False), pytest.MonkeyPatch.context() as patch:
        return planted.recorded_with(Confused, patch, **{**SMALL, "seed": seed + 1})


def recorded_elsewhere(seed: int) -> MemoryMembers:
    """In a process whose sets are ordered otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "members"
        environment = {**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": os.pathsep.join(sys.path)}
        line = [sys.executable, "-c", _RECORD, str(seed), str(made)]
        subprocess.run(line, check=True, env=environment)
        return MemoryMembers({name: bytes.fromhex(data) for name, data in json.loads(made.read_text("utf-8")).items()})


def write(seed: int, path: Path) -> None:
    files = {name: data.hex() for name, data in recorded(seed).members.items()}
    path.write_text(json.dumps(files), "utf-8")


def told(seed: int) -> tuple[str, Outcome | None]:
    """The cause, and how the replay came out; None where the plant shows nowhere."""
    cause = list(CODES)[seed % len(CODES)]
    members = recorded_elsewhere(seed) if cause == "order" else recorded(seed)
    with chosen(seed, again=True) as (_, rng):
        if cause in ("damage", "determinant"):
            planters = (buffer_byte, sink_altered) if cause == "damage" else (determinant_changed,)
            plant = rng.choice(planters)(rng, members)
            if plant is None:
                return cause, None
            members = plant.members
        outcome = replay(bundle_of(members), failure=0)
    return cause, outcome if outcome.verdict == "diverged" else None


def said(cause: str, outcome: Outcome) -> str:
    """`right`, `open` where it says that it can't be told, and names the cause among others; else `wrong`."""
    reason = outcome.detail["reason"]
    if reason["code"] == "undecided":
        return "open"
    if reason["code"] == "unlogged-choice" and "can't be told" in reason["words"]:
        return "open" if CALLS.get(cause, "no such") in reason["words"] else "wrong"
    return "right" if reason["code"] == CODES[cause] else "wrong"


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--plants", type=int, default=100)
    options.add_argument("--first", type=int, default=0)
    given = options.parse_args()
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for seed in range(given.first, given.first + given.plants):
        cause, outcome = told(seed)
        code = "(no divergence)" if outcome is None else str(outcome.detail["reason"]["code"])
        table[cause][code] += 1
        if outcome is not None and said(cause, outcome) == "wrong":
            print(f"{seed} {cause}: {code}: {outcome.sentence[-300:]}", flush=True)
    for cause, counts in table.items():
        print(cause, dict(counts))


if __name__ == "__main__":
    main()
