"""A minute of the fuzzer on bundles, and that it sees what is bad."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.fuzz.__main__ import _faults
from bench.fuzz.case import Case
from bench.server_process import ROOT
from tests.replay.bundle.made import members, write

FIRST_SEED = 4_000_000


@pytest.mark.processes
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_no_mutated_bundle_breaks_anything(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "bench.fuzz", "--seconds", "60", "--seed", str(FIRST_SEED)]
    ran = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False, timeout=380)
    assert ran.returncode == 0, ran.stdout + ran.stderr[-6000:]
    report = json.loads(ran.stdout.splitlines()[-1])
    assert report["bad"] == [] and report["cases"] > 10, report


def test_a_seed_is_the_whole_reproduction(tmp_path: Path) -> None:
    base = [(name.encode(), data) for name, data in members().items()]
    for seed in range(40):
        made = []
        for time in ("once", "again"):
            (tmp_path / f"{seed}-{time}").mkdir()
            path = Case(seed).write([base], tmp_path / f"{seed}-{time}")
            made.append({} if path.is_dir() else {path.name: path.read_bytes()})
        assert made[0] == made[1], seed


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"end": "crash", "path": "", "why": "Traceback\nKeyError: 'x'"}, "KeyError"),
        ({"end": "killed", "path": "", "why": "status 9"}, "status 9"),
        ({"end": "refused", "path": "", "why": "no"}, "without a place"),
        ({"end": "failed", "path": "", "why": "decoding failed"}, "decoding failed"),
        ({"end": "ready-partial", "path": "", "why": "", "rejects": [("", None, "what")]}, "without a place"),
        ({"end": "ready", "path": "", "why": "", "exported": "other"}, "not what came in"),
    ],
)
def test_what_is_bad_is_seen(tmp_path: Path, told: dict, said: str) -> None:
    came = write("dir", tmp_path / "came", members())
    write("dir", tmp_path / "other", members() | {"events.ndjson": b""})
    found = _faults(Case(1), came, told, tmp_path)
    assert len(found) == 1 and said in found[0]


def test_an_untouched_bundle_must_be_taken_whole(tmp_path: Path) -> None:
    case = Case(1, untouched=True)
    assert "untouched" in _faults(case, tmp_path, {"end": "refused", "path": "x", "why": "no"}, tmp_path)[0]
