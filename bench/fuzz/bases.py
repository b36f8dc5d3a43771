"""The real recordings that are mutated: small ones of several jobs, sinks and layouts."""

from __future__ import annotations

import random
from pathlib import Path

from bench.server_process import run_command
from replay.bundle.reader import open_bundle

Content = list[tuple[bytes, bytes]]

_LINES = (
    "pass-through --seed 1 --events 120 --parallelism 2 --kill map-1.0@20",
    "pass-through --seed 2 --events 80 --parallelism 1 --delta-layout grouping --sink determinant --kill sink.0@15",
    "nexmark-q3 --seed 3 --events 150 --parallelism 2 --sink transactional --kill join.0@30",
    "nexmark-q1 --seed 4 --events 60 --parallelism 1 --sharing-depth 0 --sink idempotent",
    "enrich --seed 5 --events 60 --parallelism 2 --sharing-depth 1",
)


def recorded_bases(folder: Path) -> list[Content]:
    """Their members, each recorded anew by its command line."""
    found = []
    for number, line in enumerate(_LINES):
        out = folder / f"base-{number}"
        ran = run_command(folder / "recording", "record", *line.split(), "--out", str(out))
        if ran.status:
            raise SystemExit(f"{line}: {ran.err}")
        found.append(members_of(out))
    return found


def members_of(path: Path) -> Content:
    with open_bundle(path) as bundle:
        return [(name.encode(), bundle.members.read(name)) for name in bundle.members.names()]


def narrowed(rng: random.Random, content: Content) -> Content:
    """Some of the members only: what is absent narrows what can be proved, and is no fault."""
    kept = rng.choice((1.0, 1.0, 0.5, 0.1))
    return [(name, data) for name, data in content if name == b"job.json" or rng.random() < kept]
