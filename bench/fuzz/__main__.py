"""Mutated bundles in every container, taken as uploads are, looked at, given back, deleted: `python -m bench.fuzz`.

Each case is a seed. It may be refused, in words that name a place; or be taken, whole or in part, each part left out
with its place. It may not raise, take 10 s of the processor or more than 512 MiB, or leave anything behind. What was
taken must come out by `export` as it went in. The last line is one JSON object; the exit status is 0 if none was bad.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.fuzz.case import Case

WALL_S = 120
"""However slow the machine: a case that waits for something is ended, and bad."""
CONTROL_ENDS = ("ready", "ready-partial")


class Fuzz:
    """The loop over seeds, and what came of them."""

    def __init__(self, folder: Path, asked: argparse.Namespace) -> None:
        from bench.fuzz.bases import recorded_bases

        self.folder, self.asked = folder, asked
        self.temporary = folder / "temporary"
        self.bases = recorded_bases(folder)
        self.ends: Counter[str] = Counter()
        self.whys: Counter[str] = Counter()
        self.bad: list[str] = []
        self.slowest = (0.0, 0)
        self.largest = (0, 0)

    def run(self) -> None:
        from bench.fuzz import victim

        victim.load()
        until, seed = time.monotonic() + self.asked.seconds, self.asked.seed
        while time.monotonic() < until and seed - self.asked.seed < self.asked.times and len(self.bad) < 50:
            self._one(seed)
            seed += 1

    def _one(self, seed: int) -> None:
        from bench.fuzz import victim

        case, place = Case(seed), self.folder / "case"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        path = case.write(self.bases, place)
        pid = victim.in_child(lambda: victim.suffer(path, place / "exported.tar"), place / "answer.json")
        status, used = _waited(pid)
        told: dict[str, Any] = {"end": "killed", "path": "", "why": f"status {status}"}
        if not status and (place / "answer.json").exists():
            told = json.loads((place / "answer.json").read_text())
        grown = told.get("grown_bytes", 0)
        cpu_s = used.ru_utime + used.ru_stime
        self.slowest, self.largest = max(self.slowest, (cpu_s, seed)), max(self.largest, (grown, seed))
        faults = [*_faults(case, path, told, place), *self._limits(cpu_s, grown)]
        left = victim.leftovers_of(self.folder, self.temporary)
        faults += [f"left behind: {', '.join(left[:5])}"] if left else []
        self.ends[f"{case.container} {told['end']}"] += 1
        where = "" if told.get("offset", 0) is not None else " (of the whole)"
        self.whys[f"{_shape(told['why'])}{where}"] += 1
        for one in told.get("rejects", ()):
            self.whys[f"left out: {_shape(one[2])}"] += 1
        if faults:
            self._note_bad(case, told, faults)
            victim.clean()

    def _limits(self, cpu_s: float, grown: int) -> list[str]:
        from bench.fuzz import victim

        slow = [f"took {cpu_s:.1f} s of the processor"] if cpu_s >= victim.CPU_S else []
        return slow + ([f"took {grown >> 20} MiB"] if grown > victim.MEMORY_BYTES else [])

    def _note_bad(self, case: Case, told: dict[str, Any], faults: list[str]) -> None:
        line = f"seed {case.seed} ({case.container}; {'; '.join(case.did)}): {'; '.join(faults)}"
        print(f"{line}\n{told['why']}", file=sys.stderr, flush=True)
        self.bad.append(line)

    def report(self, took_s: float) -> dict[str, Any]:
        return {
            "cases": sum(self.ends.values()),
            "first_seed": self.asked.seed,
            "seconds": round(took_s),
            "ends": dict(sorted(self.ends.items())),
            "reasons": len(self.whys),
            "slowest_cpu_s": round(self.slowest[0], 2),
            "slowest_seed": self.slowest[1],
            "largest_mib": self.largest[0] >> 20,
            "largest_seed": self.largest[1],
            "bad": self.bad,
        }


def _faults(case: Case, path: Path, told: dict[str, Any], place: Path) -> list[str]:
    """What may not be."""
    from bench.fuzz import victim

    end = told["end"]
    if end in ("crash", "killed"):
        return [f"{end}: {told['why'].strip().splitlines()[-1]}"]
    faults = []
    if end == "refused" and not told["path"]:
        faults.append(f"refused without a place: {told['why']}")
    if end == "failed":
        faults.append(f"failed: {told['why']}")
    faults += [f"left out without a place: {one[2]}" for one in told.get("rejects", ()) if not one[0]]
    if case.untouched and end != "ready":
        faults.append(f"an untouched bundle came out {end}: {told['why']}")
    if "exported" in told and not victim.same_members(path, place / told["exported"]):
        faults.append("what was exported is not what came in")
    return faults


def _shape(why: str) -> str:
    """The reason without its numbers and names, to count by."""
    return "".join(c for c in why.split(":")[-1][:90] if not c.isdigit())


def _waited(pid: int) -> tuple[int, Any]:
    until = time.monotonic() + WALL_S
    while time.monotonic() < until:
        found, status, used = os.wait4(pid, os.WNOHANG)
        if found:
            return status, used
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    _, status, used = os.wait4(pid, 0)
    return status, used


def _product(folder: Path) -> None:
    """This process becomes one of the product's, on a data folder of its own."""
    os.environ["CLONOSCOPE_DATA"] = str(folder / "data")
    os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.settings"
    os.environ["CLONOSCOPE_MAX_UNPACKED_BYTES"] = str(256 << 20)
    os.environ["CLONOSCOPE_AUDIT_UNASKED_BYTES"] = "0"
    temporary = folder / "temporary"
    temporary.mkdir()
    tempfile.tempdir = os.environ["TMPDIR"] = str(temporary)
    import django

    django.setup()
    from dashboard.opening import open_folder

    open_folder()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--times", type=int, default=1 << 60, help="at most so many cases")
    parser.add_argument("--seed", type=int, default=1, help="of the first case; the others follow")
    parser.add_argument("--reasons", action="store_true", help="print how often each reason was given")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="clonoscope-fuzz-") as name:
        folder = Path(name)
        _product(folder)
        fuzz, began = Fuzz(folder, asked), time.monotonic()
        fuzz.run()
        if asked.reasons:
            for why, count in fuzz.whys.most_common():
                print(f"{count:7} {why}", file=sys.stderr)
        print(json.dumps(fuzz.report(time.monotonic() - began)))
    sys.exit(1 if fuzz.bad else 0)


if __name__ == "__main__":
    main()
