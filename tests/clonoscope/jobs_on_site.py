"""Recordings of small jobs whose functions stand in files of their own, and replays of them where those files are."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clonoscope import Recording, Task
from replay.debugger.outcome import Outcome
from tests.clonoscope.recorded import recording

ROOT = Path(__file__).resolve().parents[2]

PRICING = """
    import clonoscope

    def look_up(item):
        raise ConnectionError(item)  # nothing outside is there any more

    def process(record):
        key, at, value = record
        price = clonoscope.external(look_up, value["item"], name="price")
        yield [key, clonoscope.time_ns() // 1_000_000, {"price": price, "tag": str(clonoscope.uuid4())}]
"""


@dataclass
class Site:
    """A folder with a job's code, and recordings of it."""

    folder: Path

    def write(self, name: str, code: str) -> None:
        path = self.folder / f"{name}.py"
        path.write_text(textwrap.dedent(code))

    def record(self, out: str, run: Callable[[Recording], None], **settings: Any) -> Path:
        with recording(self.folder / f"recorded-{out}", payload=settings.pop("payload", "full"), **settings) as made:
            run(made)
            assert made.faults == []
        return made.dump(self.folder / f"{out}.zip")

    def command(self, *arguments: Any, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "clonoscope", *map(str, arguments)],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def replay(self, bundle: Path, *arguments: Any) -> tuple[dict[str, Any], int]:
        """(the outcome, the exit status)"""
        done = self.command("replay", bundle, *arguments, "--json")
        assert done.returncode in (0, 3), done.stderr + done.stdout
        return json.loads(done.stdout.splitlines()[-1]), done.returncode


def price_of(item: int) -> float:
    return item * 1.5


def run_pricing(made: Recording, epochs: int = 2, records: int = 3, partition: int = 0) -> None:
    """As `PRICING`, recorded: the same services asked in the same order, by code that has the outside at hand."""
    import clonoscope

    task = made.task("orders", partition, operator="pricing:process")
    for epoch in range(epochs):
        with task.epoch(epoch):
            for offset in range(epoch * records, (epoch + 1) * records):
                record = [f"k{offset}", offset, {"item": offset}]
                task.take(offset, topic="orders", partition=partition, record=record)
                price = clonoscope.external(price_of, offset, name="price")
                at_ms = clonoscope.time_ns() // 1_000_000
                task.output([record[0], at_ms, {"price": price, "tag": str(clonoscope.uuid4())}])


__all__ = ["PRICING", "Outcome", "Site", "Task", "price_of", "run_pricing"]
