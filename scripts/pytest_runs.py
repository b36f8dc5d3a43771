"""Runs of pytest: what they say, what they left out, what failed in them, and whether that passes where it is alone."""

import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
TESTS_FAILED = 1
NO_TESTS_COLLECTED = 5
MOST_FILES_TRIED_AGAIN = 4


@dataclass(slots=True)
class Pytest:
    """One run of pytest; its output is shown as it comes, or at its end where another one's comes meanwhile."""

    name: str
    arguments: list[str]
    shown_at_the_end: bool = False
    left_out: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)
    taken_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    tests: int = 0
    status: int | None = None
    duration_s: float = 0.0

    def run(self, environment: dict[str, str], folder: Path, none_is_good: bool) -> None:
        started = time.monotonic()
        own = folder / self.name.replace(" ", "-")
        own.mkdir()
        report = own / "report.xml"
        failed = own / "failed.json"
        told = ["-p", "scripts.failed_tests", f"--failed-tests={failed}", f"--junit-xml={report}"]
        command = [sys.executable, "-m", "pytest", *told, *self.arguments]
        with tempfile.TemporaryFile(dir=folder) as kept:
            shown = kept if self.shown_at_the_end else None
            self.status = subprocess.run(
                command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=shown, stderr=shown, check=False
            ).returncode
            if shown is not None:
                kept.seek(0)
                print(f"\n--- {self.name} ---\n{kept.read().decode(errors='replace')}", flush=True)
        if self.status == NO_TESTS_COLLECTED and none_is_good:
            self.status = 0
        self.duration_s = time.monotonic() - started
        if report.exists():
            self._read(report)
            self.failed = json.loads(failed.read_text())

    def _read(self, report: Path) -> None:
        for case in ElementTree.parse(report).iter("testcase"):
            self.tests += 1
            self.taken_s[case.get("classname", "")] += float(case.get("time", 0))
            skipped = case.find("skipped")
            if skipped is not None and skipped.get("type") != "pytest.xfail":
                self.left_out.append(f"{case.get('classname')}::{case.get('name')}: {skipped.get('message')}")

    @property
    def verdict(self) -> str:
        return f"{'ok' if self.status == 0 else 'FAILED'}, {self.tests} tests"


def once_more(runs: list[Pytest], environment: dict[str, str], folder: Path) -> list[Pytest]:
    """A few tests that failed where others ran beside them are tried alone. Those that pass are named as unsteady and
    fail nothing; where many files have failed, it is not the others that they suffered from."""
    failed = [name for run in runs for name in run.failed]
    if not 0 < len({name.split("::")[0] for name in failed}) <= MOST_FILES_TRIED_AGAIN:
        return []
    alone = Pytest("pytest once more", ["-q", *failed])
    alone.run(environment, folder, none_is_good=False)
    for run in runs:
        run.unsteady = [name for name in run.failed if name not in alone.failed] if alone.tests else []
        if run.status == TESTS_FAILED and run.failed == run.unsteady:
            run.status = 0
    return [alone]
