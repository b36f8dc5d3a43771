"""Removing files, folders, and links together with what they point to; what is already gone is well."""

from __future__ import annotations

import shutil
from pathlib import Path


def remove_path(path: Path) -> None:
    if path.is_symlink():
        pointed_to = path.resolve()
        path.unlink(missing_ok=True)
        shutil.rmtree(pointed_to, ignore_errors=True)
    elif path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
