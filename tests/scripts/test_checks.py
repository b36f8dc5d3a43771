"""`./test` names what it left out, fails for it in CI, and notices a run that dirties the tree."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import checks, pytest_runs
from scripts.checks import Check
from scripts.pytest_runs import Pytest, once_more

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


def test_files_that_take_longest_are_named(capsys) -> None:
    one, other = ran(), ran()
    one.taken_s.update({"tests.test_quick": 0.4, "tests.test_slow": 30.2})
    other.taken_s.update({"tests.test_pages": 11.4})
    checks.summary([one, other], "", 50.0)
    assert "slowest: tests.test_slow 30 s, tests.test_pages 11 s, tests.test_quick 0 s" in capsys.readouterr().out


@pytest.mark.parametrize("at_the_end", [True, False])
def test_what_a_run_says_is_shown_whole(tmp_path: Path, capfd, at_the_end: bool) -> None:
    (tmp_path / "test_it.py").write_text("def test_bad():\n    assert 1 == 2, 'so it is'\n")
    arguments = ["-q", "-p", "no:django", "-c", os.devnull, str(tmp_path)]
    run = Pytest("pytest beside", arguments, shown_at_the_end=at_the_end)
    run.run(dict(os.environ), tmp_path, none_is_good=False)
    shown = capfd.readouterr().out
    assert run.status == 1 and "AssertionError: so it is" in shown
    assert shown.startswith("\n--- pytest beside ---") == at_the_end


# Counts how often it came so far, and asks that of the test's body.
COUNTING = """
from pathlib import Path
def times() -> int:
    with open(Path(__file__).parent / "times", "a") as file:
        file.write("x")
        return file.tell()
"""


def tried(folder: Path, **bodies: str) -> tuple[Pytest, list[Pytest]]:
    for name, body in bodies.items():
        (folder / name).mkdir()
        (folder / name / f"test_{name}.py").write_text(f"{COUNTING}def test_it():\n    assert {body}\n")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:django\n")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    run = Pytest("pytest", ["-q", "."])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pytest_runs, "ROOT", folder)
        run.run(environment, folder, none_is_good=False)
        return run, once_more([run], environment, folder)


def test_what_fails_beside_others_and_passes_alone_is_named_and_fails_nothing(tmp_path: Path, capsys) -> None:
    run, (alone,) = tried(tmp_path, good="True", unsteady="times() > 1")
    assert (run.status, alone.status, alone.tests) == (0, 0, 1)
    assert run.unsteady == ["unsteady/test_unsteady.py::test_it"]
    assert checks.summary([run, alone], "", 7.0) == 0
    assert "failed beside others, passed alone: " in capsys.readouterr().out


def test_what_fails_alone_too_fails_the_run(tmp_path: Path) -> None:
    run, (alone,) = tried(tmp_path, bad="times() > 9", unsteady="times() > 1")
    assert (run.status, alone.status) == (1, 1)
    assert len(run.failed) == 2 and len(run.unsteady) == 1


def test_many_failures_are_not_tried_again(tmp_path: Path) -> None:
    run, alone = tried(tmp_path, **{f"bad_{n}": "times() > 1" for n in range(5)})
    assert run.status == 1 and len(run.failed) == 5 and alone == []


def test_a_run_without_failures_is_the_only_one(tmp_path: Path) -> None:
    run, alone = tried(tmp_path, good="True")
    assert run.status == 0 and alone == []


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


def test_only_files_with_a_mark_are_collected_for_it(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    for name, text in {"test_one": "@pytest.mark.timed", "test_two": "pytestmark = [pytest.mark.slow]"}.items():
        path = tmp_path / "tests" / "deep" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"import pytest\n\n{text}\ndef test_it(): pass\n")
    assert checks.files_with("timed") == ["tests/deep/test_one.py"]


def test_no_check_meets_settings_of_production_nor_compiles_anew_what_it_imports(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://real/one")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (tmp_path / "imported.py").touch()
    environment = checks.environment_of(tmp_path)
    assert "DATABASE_URL" not in environment
    subprocess.run([sys.executable, "-c", "import imported"], cwd=tmp_path, env=environment, check=True)
    assert list(tmp_path.rglob("imported*.pyc"))


def test_some_node_is_always_found(monkeypatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    version = subprocess.run([checks.node(), "--version"], capture_output=True, text=True, check=True).stdout
    assert int(version[1:].split(".")[0]) >= 18
