"""A stored bundle as it came in, member by member and byte by byte, in any container."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from replay.bundle.archive_writers import Source, archived
from replay.bundle.pack import Pack, storing
from replay.bundle.writer import refuse_taken, suffix_of
from replay.errors import ReplayError


def sources_of(pack: Pack) -> Iterator[Source]:
    """All members, in order of their names."""
    for name in pack.names():
        yield Source(name, pack.size(name), partial(pack.open, name))


def give_back(pack: Pack, out: Path) -> int:
    """Writes the bundle to `out`, whose suffix names the container; none is a folder. How many members it has.

    It is there whole or not at all.
    """
    refuse_taken(out)
    with storing(str(out)):
        stage = Path(tempfile.mkdtemp(prefix=f".{out.name[:100]}.", suffix=".part", dir=out.parent))
        try:
            made = stage / "made"
            suffix = suffix_of(out)
            if suffix:
                with open(made, "wb") as file:
                    file.writelines(archived(sources_of(pack), suffix))
                    file.flush()
                    os.fsync(file.fileno())
            else:
                _write_folder(pack, made)
            os.replace(made, out)
        finally:
            shutil.rmtree(stage, ignore_errors=True)
    return len(pack)


def _write_folder(pack: Pack, folder: Path) -> None:
    folder.mkdir(mode=0o755)
    for one in sources_of(pack):
        target = folder / one.name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with one.open() as source, open(target, "xb") as file:
                shutil.copyfileobj(source, file, 1 << 20)
        except OSError as fault:
            if fault.errno != errno.ENAMETOOLONG:
                raise
            raise ReplayError(
                f"no file can have this name here: {fault.strerror}", path=one.name,
                remedy="Choose an archive: --out bundle.tar",
            ) from fault  # fmt: skip
