"""Records jobs whose operators are those of the sample package, in memory."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from replay.jobs import catalogue
from replay.jobs.options import RecordOptions
from replay.jobs.pass_through_job import PASS_THROUGH
from replay.jobs.record import run_of
from replay.jobs.sample import Shape
from replay.protocols import PROTOCOLS
from replay.runtime.engine import Engine
from replay.runtime.recorder import MemoryMembers as EngineMembers
from tests.packages.installing import install
from tests.replay.debugger.worlds import MemoryMembers

PLANTED = "shop.planted"
HIDDEN = "shop.hidden"


def names_of(module: str = PLANTED) -> list[str]:
    """Its operators, read from its text: only an installed package is imported."""
    text = (Path(__file__).parents[3] / "packages" / module.replace(".", "/")).with_suffix(".py").read_text("utf-8")
    return [
        line.split()[1].partition("(")[0] for line in text.splitlines() if line.startswith("class ") and "(" in line
    ]


@contextmanager
def shop(folder: Path) -> Iterator[Path]:
    """The package is installed, and on the path, for as long as this lasts."""
    install(folder, "shop", [f"{one}:{name} = {one}:{name}" for one in (PLANTED, HIDDEN) for name in names_of(one)])
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        importlib.invalidate_caches()
        try:
            yield folder
        finally:
            for name in [one for one in sys.modules if one.partition(".")[0] == "shop"]:
                del sys.modules[name]


def recorded(operator: str, **options: object) -> MemoryMembers:
    """A job of that operator between a source and a sink, in which it fails once."""
    chosen = RecordOptions(
        job="planted",
        **{"seed": 5, "events": 200, "rate_per_s": 4000.0, "checkpoint_interval_ms": 20, "parallelism": 1}
        | {"kills": ("map-1.0@35",)}
        | options,
    )

    def shape(given: RecordOptions) -> Shape:
        vertices, edges = PASS_THROUGH.shape(given)
        return [replace(one, operator=operator) if one.kind == "operator" else one for one in vertices], edges

    planted = replace(PASS_THROUGH, name="planted", shape=shape)
    with mock.patch.dict(catalogue.JOBS, {"planted": planted}):
        run = run_of(chosen, PROTOCOLS)
    members = EngineMembers()
    Engine(run, members).run()
    files = {name: bytes(data) for name, data in members.members.items()}
    return MemoryMembers({**files, "job.json": run.manifest.to_bytes()})


def marked(folder: Path, name: str, module: str = PLANTED) -> list[tuple[str, int, str]]:
    """(file as its package names it, line, kind) that the class's own text marks; "" for what is in no class."""
    found, inside = [], ""
    file = f"{module.replace('.', '/')}.py"
    for number, line in enumerate((folder / file).read_text("utf-8").splitlines(), 1):
        if (line and line[0] not in " @#)") or line.startswith("@"):
            inside = line.split()[1].partition("(")[0] if line.startswith("class ") else ""
        for mark in ("# reads: ", "# moves: "):
            if mark in line and inside == name:
                found.append((file, number, line.partition(mark)[2].partition(" #")[0]))
    if name == "InAnotherModule":
        rates = folder / "shop" / "rates.py"
        lines = rates.read_text("utf-8").splitlines()
        found.append(("shop/rates.py", next(n for n, one in enumerate(lines, 1) if "# reads" in one), "clock"))
    return found
