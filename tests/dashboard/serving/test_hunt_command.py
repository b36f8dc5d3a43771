"""`replay --hunt`: what it prints, and that what was found is a status that a build server sees."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.server_process import Ran, run_command
from tests.replay.debugger.hunting.planting import PLANTED, marked, recorded, shop


def bundle(folder: Path, operator: str) -> Path:
    for name, data in recorded(f"{PLANTED}:{operator}").members.items():
        file = folder / operator / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return folder / operator


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with shop(tmp_path / "packages") as folder:
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])))
        yield folder


def last_object(ran: Ran) -> dict:
    return json.loads(ran.out.splitlines()[-1])


def test_a_hunt_of_a_bundles_path_says_what_it_found(tmp_path: Path, installed: Path) -> None:
    clean, planted = bundle(tmp_path, "Innocent"), bundle(tmp_path, "Getenv")
    none = tmp_path / "no data folder"
    ran = run_command(none, "replay", str(clean), "--hunt", "--json")
    assert ran.status == 0, ran.err
    assert last_object(ran)["detail"]["hunt"]["readings"] == []
    ran = run_command(none, "replay", str(planted), "--hunt")
    ((file, line, _),) = marked(installed, "Getenv")
    # The variable is as it was, so the replay itself is identical: nobody else would have noticed.
    assert ran.status == 3 and "identical" in ran.out
    assert f"reads past its log at line {line} of {file}: os.getenv" in ran.out
    assert f"moves with the environment's variables, by line {line} of {file}" in ran.out
    assert not none.exists()


def test_a_build_server_reads_what_a_hunt_found(tmp_path: Path, installed: Path) -> None:
    planted, report = bundle(tmp_path, "Getenv"), tmp_path / "report.xml"
    options = ("--hunt", "--fail-on-divergence", "--junit", str(report))
    ran = run_command(tmp_path / "none", "replay", str(planted), *options)
    assert ran.status == 3
    (failure,) = ElementTree.parse(report).iter("failure")
    ((file, line, _),) = marked(installed, "Getenv")
    assert failure.get("type") == "hunt" and f"Reads environment: {file}:{line} return os.getenv" in (
        failure.text or ""
    )


def test_a_hunt_refuses_to_go_elsewhere(tmp_path: Path) -> None:
    ran = run_command(tmp_path / "none", "replay", str(tmp_path), "--hunt", "--until", "end")
    assert ran.status == 2 and "leave out --until" in ran.err
