"""`./test` names what it left out, fails for it in CI, and notices a run that dirties the tree."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import checks
from scripts.checks import Check, Pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SKIPPING = "import pytest\n\ndef test_good():\n    pass\n\ndef test_left():\n    pytest.skip('no such service')\n"


def finished(status: int) -> Check:
    check = Check("lint", [])
    check.status = status
    return check


def ran(*left_out: str) -> Pytest:
    return Pytest("pytest", [], left_out=list(left_out), tests=3, status=0)


@pytest.mark.parametrize(
    ("results", "dirt", "in_ci", "status", "closing"),
    [
        ([finished(0), ran()], "", "true", 0, "All checks passed in 7 s."),
        ([finished(1), ran()], "", "", 1, "FAILED after 7 s: lint."),
        ([finished(0), ran("a")], "", "", 0, "All checks passed in 7 s, but 1 tests were left out."),
        ([finished(0), ran("a")], "", "true", 1, "FAILED after 7 s: completeness, but 1 tests were left out."),
        ([finished(0), ran()], "?? new", "", 1, "FAILED after 7 s: clean tree."),
    ],
)
def test_the_closing_line_says_how_it_went(results, dirt, in_ci, status, closing, monkeypatch, capsys) -> None:
    monkeypatch.setenv("CI", in_ci)
    assert checks.summary(results, dirt, 7.0) == status
    assert capsys.readouterr().out.splitlines()[-1] == closing


def test_left_out_tests_are_read_from_the_report(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SKIPPING)
    run = Pytest("pytest", ["-q", "-p", "no:django", "-c", os.devnull, str(tmp_path)])
    run.run(dict(os.environ), tmp_path, none_is_good=False)
    assert (run.status, run.tests) == (0, 2)
    assert run.left_out == ["test_it::test_left: no such service"]


@pytest.mark.parametrize(("in_ci", "status"), [("true", 1), ("", 0)])
def test_pytest_itself_fails_for_skipped_tests_in_ci(tmp_path: Path, in_ci: str, status: int) -> None:
    (tmp_path / "test_it.py").write_text(SKIPPING)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.conftest",
        "-p",
        "no:django",
        "-c",
        os.devnull,
        str(tmp_path),
    ]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "CI": in_ci}, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "LEFT OUT" in done.stdout


def test_a_run_that_dirties_the_tree_is_noticed(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    assert checks.tree_state() is None
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "before").touch()
    before = checks.tree_state()
    (tmp_path / "after").touch()
    assert checks.changes_since(before) == "?? after"


def test_some_node_is_always_found(monkeypatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    version = subprocess.run([checks.node(), "--version"], capture_output=True, text=True, check=True).stdout
    assert int(version[1:].split(".")[0]) >= 18
