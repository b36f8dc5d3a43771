"""`./run` makes an environment once, repairs what was interrupted, and is not fooled by a Python that does not work."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent.parent
SECOND_START_S = 1.0
SETUP_S = 120


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """In a folder with a space in its name; its lock files name no packages, so that no network is needed."""
    root = tmp_path / "a checkout"
    shutil.copytree(ROOT / "scripts", root / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "run", root / "run")
    for name in ("requirements-build.txt", "requirements.txt", "requirements-dev.txt", "requirements-engines.txt"):
        (root / name).write_text("# nothing\n")
    return root


def setup(root: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(root / "run"), "--setup-only"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=SETUP_S,
        check=False,
    )


def bash(script: str, root: Path = ROOT, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = f'source "{root}/scripts/environment.sh"\n{script}'
    return subprocess.run(
        ["bash", "-c", command], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_a_second_start_only_compares_stamps(clone: Path) -> None:
    first = setup(clone)
    assert first.returncode == 0, first.stderr
    assert "Setting up .venv" in first.stderr
    started = time.monotonic()
    second = setup(clone)
    assert time.monotonic() - started < SECOND_START_S
    assert (second.returncode, second.stderr) == (0, "")
    assert (clone / ".venv" / "bin" / "python").exists()


def test_an_interrupted_setup_is_made_anew(clone: Path) -> None:
    assert setup(clone).returncode == 0
    (clone / ".venv" / ".unfinished").touch()
    (clone / ".venv" / "left-behind").touch()
    again = setup(clone)
    assert again.returncode == 0, again.stderr
    assert not (clone / ".venv" / "left-behind").exists()
    assert not (clone / ".venv" / ".unfinished").exists()


def test_a_moved_folder_gets_a_new_environment(clone: Path) -> None:
    assert setup(clone).returncode == 0
    moved = clone.rename(clone.with_name("moved"))
    again = setup(moved)
    assert again.returncode == 0, again.stderr
    assert "Setting up .venv" in again.stderr


def test_changed_requirements_are_installed_into_what_is_there(clone: Path) -> None:
    assert setup(clone).returncode == 0
    (clone / "requirements.txt").write_text("# still nothing\n")
    again = setup(clone)
    assert "Setting up" not in again.stderr
    assert "of requirements.txt" in again.stderr


def test_two_starts_at_once_make_one_environment(clone: Path) -> None:
    starts = [
        subprocess.Popen(
            [str(clone / "run"), "--setup-only"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for _ in range(2)
    ]
    outputs = [start.communicate(timeout=SETUP_S)[0] for start in starts]
    assert [start.returncode for start in starts] == [0, 0], outputs
    assert sum("Setting up .venv" in output for output in outputs) == 1, outputs


def test_engines_get_an_environment_of_their_own_once_and_anew_where_their_lock_changes(clone: Path) -> None:
    assert setup(clone).returncode == 0
    first, second = (bash(f'make_engines "{clone}"', clone) for _ in range(2))
    assert first.returncode == 0 and "of requirements-engines.txt" in first.stderr, first.stderr
    assert (second.returncode, second.stderr) == (0, "")
    assert (clone / ".venv" / "engines" / "bin" / "python").exists()
    (clone / ".venv" / "engines" / "left-behind").touch()
    (clone / "requirements-engines.txt").write_text("# still nothing\n")
    assert "of requirements-engines.txt" in bash(f'make_engines "{clone}"', clone).stderr
    assert not (clone / ".venv" / "engines" / "left-behind").exists()


def test_packages_that_cannot_be_fetched_are_one_clear_sentence(clone: Path) -> None:
    digest = "0" * 64
    (clone / "requirements.txt").write_text(f"nothing-of-that-name==1 --hash=sha256:{digest}\n")
    failed = setup(clone, PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="1", PIP_CONFIG_FILE=os.devnull)
    assert failed.returncode == 1
    assert "The package index could not be reached" in failed.stderr
    assert (clone / ".venv" / ".unfinished").exists()


def test_a_shim_without_a_python_behind_it_is_passed_over(tmp_path: Path) -> None:
    for name in ("python3.11", "python3.12", "python3"):
        shim = tmp_path / name
        shim.write_text("#!/bin/sh\necho 'version not installed' >&2\nexit 127\n")
        shim.chmod(0o755)
    found = bash("find_python", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert found.returncode == 0, found.stderr
    assert not found.stdout.startswith(str(tmp_path))
    version = subprocess.run([found.stdout.strip(), "--version"], capture_output=True, text=True, check=True).stdout
    assert tuple(map(int, version.split()[1].split(".")[:2])) >= (3, 11)


def test_an_old_python_is_passed_over(tmp_path: Path) -> None:
    old = tmp_path / "python3.11"
    old.write_text("#!/bin/sh\necho\n")  # what the question prints where the version is too old
    old.chmod(0o755)
    found = bash("find_python", PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert found.stdout.strip() not in ("", str(old))


def test_who_may_not_install_is_told_in_one_line_what_is_missing() -> None:
    refused = bash("_as_root() { return 1; }; install_debian_packages chromium redis-server")
    assert refused.returncode == 1
    assert refused.stderr.splitlines() == [
        "Needed, and not for this user to install: chromium redis-server "
        "(as root: apt-get install chromium redis-server)"
    ]


def test_help_and_wrong_options_need_no_environment(clone: Path) -> None:
    shown = subprocess.run([str(clone / "run"), "--help"], capture_output=True, text=True, check=False)
    refused = subprocess.run([str(clone / "run"), "--prot", "1"], capture_output=True, text=True, check=False)
    assert (shown.returncode, refused.returncode) == (0, 2)
    assert "--data DIR" in shown.stdout
    assert "unknown option --prot" in refused.stderr
    assert not (clone / ".venv").exists()


def test_lock_files_hold_hashes_and_no_addresses() -> None:
    for name in ("requirements-build.txt", "requirements.txt", "requirements-dev.txt", "requirements-engines.txt"):
        text = (ROOT / name).read_text()
        pinned = [line for line in text.splitlines() if line and line[0].isalpha()]
        assert all("==" in line and line.endswith("\\") for line in pinned), name
        assert text.count("--hash=sha256:") >= len(pinned), name
        assert not any(mark in text for mark in ("://", "--index", "--extra-index", "--find-links")), name
