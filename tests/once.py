"""What is made once in a whole run: the worker that asks first makes it, the others wait for it and share it."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder in which it was made; nobody may change what is in it."""
    base = factory.getbasetemp()
    # Each worker's folder lies in that of the run.
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    shared = run / "made-once"
    shared.mkdir(exist_ok=True)
    folder, done = shared / name, shared / f"{name}.done"
    with open(shared / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            # Whoever was here before has failed.
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            done.touch()
    return folder
