"""Which code ran, as a bundle says it: without starting anything, and however the checkout lies."""

import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

import clonoscope
from clonoscope.identity import code_identity
from replay.bundle.reader import open_bundle


def git(folder: Path, *arguments: str) -> str:
    named = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *named, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "job"
    folder.mkdir()
    git(folder, "init")
    (folder / "requirements.txt").write_text("numpy==2.0\n")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "one")
    return folder


@pytest.mark.parametrize("lies", ["loose", "packed", "detached", "worktree", "below"])
def test_the_revision_is_the_one_that_git_tells(lies: str, checkout: Path, tmp_path: Path) -> None:
    folder = checkout
    if lies == "packed":
        git(checkout, "pack-refs", "--all")
    elif lies == "detached":
        git(checkout, "checkout", "--detach")
    elif lies == "worktree":
        folder = tmp_path / "beside"
        git(checkout, "worktree", "add", "-b", "side", str(folder))
        git(folder, "commit", "--allow-empty", "-m", "two")
    elif lies == "below":
        folder = checkout / "deep" / "down"
        folder.mkdir(parents=True)
    found = code_identity(folder)
    assert found["git"] == git(folder, "rev-parse", "HEAD")
    assert found["lock_sha256"] == hashlib.sha256(b"numpy==2.0\n").hexdigest()


@pytest.mark.parametrize("head", ["", "ref: refs/heads/none\n", "junk", "ref: ../../etc/passwd\n", "\udcff"])
def test_what_cannot_be_found_out_is_empty(head: str, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / ".git" / "HEAD").write_bytes(head.encode("utf-8", "surrogateescape"))
    (checkout / "requirements.txt").unlink()
    monkeypatch.delenv("CLONOSCOPE_IMAGE", raising=False)
    found = code_identity(checkout)
    assert (found["git"], found["lock_sha256"]) == ("", "")


def test_a_bundle_says_which_code_ran(checkout: Path, tmp_path: Path) -> None:
    job = "import clonoscope\nwith clonoscope.start('o', dir='r') as made, made.task('p').epoch(0): clonoscope.time()"
    chosen = {
        "CLONOSCOPE_IMAGE": "shop:7",
        "PYTHONHASHSEED": "42",
        "PYTHONPATH": str(Path(clonoscope.__file__).parents[1]),
    }
    subprocess.run([sys.executable, "-c", job], cwd=checkout, env=os.environ | chosen, check=True)
    out = tmp_path / "o.zip"
    command = [sys.executable, "-m", "clonoscope", "dump", str(checkout / "r" / "o"), "--out", str(out)]
    subprocess.run(command, env=os.environ | chosen, check=True)
    with open_bundle(out) as bundle:
        code = bundle.manifest.raw["code"]
    assert (code["git"], code["image"], code["hash_seed"]) == (git(checkout, "rev-parse", "HEAD"), "shop:7", "42")
    assert code["python"] == platform.python_version() and code["packages"]["pytest"] == pytest.__version__


def test_a_variable_whose_bytes_are_no_text_hides_nothing_else(checkout: Path, tmp_path: Path) -> None:
    job = "import clonoscope\nwith clonoscope.start('o', dir='r') as made, made.task('p').epoch(0): clonoscope.time()"
    chosen = {
        b"CLONOSCOPE_IMAGE": b"shop\xff\xe9:\xc3\xa9",
        b"PYTHONPATH": os.fsencode(Path(clonoscope.__file__).parents[1]),
    }
    subprocess.run([sys.executable, "-c", job], cwd=checkout, env=os.environb | chosen, check=True)
    out = tmp_path / "o.zip"
    command = [sys.executable, "-m", "clonoscope", "dump", str(checkout / "r" / "o"), "--out", str(out)]
    subprocess.run(command, env=os.environb | chosen, check=True)
    with open_bundle(out) as bundle:
        code = bundle.manifest.raw["code"]
    assert (code["git"], code["image"]) == (git(checkout, "rev-parse", "HEAD"), "shop\\xff\\xe9:é")


def test_a_folder_that_was_removed_stops_no_job(tmp_path: Path) -> None:
    job = (
        "import os, sys, clonoscope; os.rmdir(os.getcwd())\n"
        "with clonoscope.start('o', dir=sys.argv[1]) as made, made.task('p').epoch(0): clonoscope.time()\n"
        "assert made.faults == [], made.faults"
    )
    (tmp_path / "gone").mkdir()
    here = {"PYTHONPATH": str(Path(clonoscope.__file__).parents[1])}
    command = [sys.executable, "-c", job, str(tmp_path / "r")]
    subprocess.run(command, cwd=tmp_path / "gone", env=os.environ | here, check=True)
    assert code_identity(None)["python"] == platform.python_version()
