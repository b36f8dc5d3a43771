"""Which code ran: revision, image, lock file, Python, packages, hash seed. Looked up once, at the start."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import sys
from pathlib import Path
from typing import Any

LOCK_FILES = ("uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock", "requirements.lock", "requirements.txt")
IMAGE_VARIABLES = ("CLONOSCOPE_IMAGE", "IMAGE", "CONTAINER_IMAGE")
_HASH_LENGTHS = (40, 64)


def code_here() -> dict[str, Any]:
    """Of the folder that this process is in."""
    try:
        return code_identity(Path.cwd())
    except OSError:  # it was removed meanwhile
        return code_identity(None)


def code_identity(folder: Path | None) -> dict[str, Any]:
    """What can be found out; nothing is started for it, and what can't be is left out as an empty text."""
    root = None if folder is None else _project(folder)
    lock = root and next((root / name for name in LOCK_FILES if (root / name).is_file()), None)
    return {
        "git": "" if root is None else _revision(root),
        "image": next(filter(None, map(_variable, IMAGE_VARIABLES)), ""),
        "lock_sha256": "" if lock is None else _digest(lock),
        "python": platform.python_version(),
        "hash_seed": (_variable("PYTHONHASHSEED") or "random") if sys.flags.hash_randomization else "0",
        "packages": _packages(),
    }


def _variable(name: str) -> str:
    """Its bytes may be no text, which nothing could be written with: those that are none are named."""
    return os.fsencode(os.environ.get(name, "")).decode("utf-8", "backslashreplace")


def _project(folder: Path) -> Path:
    """The nearest folder above that is a checkout."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


def _revision(root: Path) -> str:
    try:
        place = root / ".git"
        if place.is_file():  # of a worktree
            place = root / place.read_text("utf-8").removeprefix("gitdir:").strip()
        head = (place / "HEAD").read_text("utf-8").strip()
        if not head.startswith("ref:"):
            return _hash(head)
        name = head.removeprefix("ref:").strip()
        shared = place / "commondir"
        common = place / shared.read_text("utf-8").strip() if shared.exists() else place
        if (common / name).exists():
            return _hash((common / name).read_text("utf-8").strip())
        for line in (common / "packed-refs").read_text("utf-8").splitlines():
            if line.endswith(f" {name}"):
                return _hash(line.partition(" ")[0])
    except (OSError, UnicodeDecodeError):
        pass
    return ""


def _hash(text: str) -> str:
    return text if len(text) in _HASH_LENGTHS and all(c in "0123456789abcdef" for c in text) else ""


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _packages() -> dict[str, str]:
    found = ((one.metadata["Name"], one.version) for one in importlib.metadata.distributions())
    return dict(sorted((str(name), str(version)) for name, version in found if name))
