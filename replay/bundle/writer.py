"""Writes a bundle, in the container that the suffix names: members in any order, published whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from replay.bundle.archive_writers import write_archive
from replay.bundle.limits import Limits
from replay.bundle.members import MANIFEST
from replay.bundle.names import NameBook, name_fault, one_too_many
from replay.bundle.pack import storing
from replay.errors import BundleError, InvariantError, ReplayError, check
from replay.model import Manifest

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tar.zst")
_HELD_BYTES = 32 << 20
_LIMITS = Limits()


class BundleWriter:
    """Collects members beside `out` and moves them there at `close`; `abort` leaves nothing behind."""

    def __init__(self, out: Path | str, limits: Limits = _LIMITS):
        self.out = Path(out)
        refuse_taken(self.out)
        self._suffix = suffix_of(self.out)
        self._limits = limits
        # Of what is held; what was written is asked for on disk, so that a long recording takes no more memory.
        self._book = NameBook(limits)
        self._members = 0
        self._held: dict[str, bytearray] = {}
        self._held_bytes = 0
        self._open = True
        with storing(str(self.out)):
            self._stage = Path(tempfile.mkdtemp(prefix=f".{self.out.name}.", suffix=".part", dir=self.out.parent))
            self._tree = self._stage / "tree"
            try:
                self._tree.mkdir()
            except BaseException:  # Ctrl-C too, which may come at any moment
                self.abort()
                raise

    def append(self, name: str, data: bytes) -> None:
        """Appends to a member, which begins to exist with its first append, be it empty."""
        held = self._held.get(name)
        if held is None:
            held = self._begin(name)
        held += data
        self._held_bytes += len(data)
        if self._held_bytes > _HELD_BYTES:
            with storing(str(self.out)):
                self._flush()

    def _begin(self, name: str) -> bytearray:
        check(self._open, "the writer is closed")
        if name not in self._book:
            self._admit(name)
        return self._held.setdefault(name, bytearray())

    def _admit(self, name: str) -> None:
        clashes = name_fault(name) is None and self._clashes(self._tree / name)
        check(not clashes, f"{name!r} cannot be a member: it is a file in one place and a folder in another")
        try:
            self._book.admit_file(name.encode("utf-8", "surrogatepass"))
        except BundleError as fault:
            raise InvariantError(f"{name!r} cannot be a member: {fault.why}") from None

    def _clashes(self, target: Path) -> bool:
        """With what was written before."""
        return target.is_dir() or any(one.is_file() for one in target.parents if one.is_relative_to(self._tree))

    def close(self, manifest: Manifest) -> Path:
        """Writes the manifest and publishes the bundle under its name, by one rename."""
        try:
            with storing(str(self.out)):
                self.append(MANIFEST, manifest.to_bytes())
                self._flush()
                self._publish()
        finally:
            self.abort()
        return self.out

    def abort(self) -> None:
        """Drops everything; nothing is left behind."""
        self._open = False
        self._held.clear()
        shutil.rmtree(self._stage, ignore_errors=True)

    def __enter__(self) -> BundleWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open:
            self.abort()

    def _publish(self) -> None:
        if not self._suffix:
            os.chmod(self._tree, 0o755)
            os.rename(self._tree, self.out)
            return
        archive = self._stage / "archive"
        write_archive(self._tree, archive, self._suffix)
        with open(archive, "rb") as written:
            os.fsync(written.fileno())
        os.replace(archive, self.out)

    def _flush(self) -> None:
        for name, data in self._held.items():
            target = self._tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            self._members += not target.exists()
            with open(target, "ab") as stream:
                stream.write(data)
            if self._members > self._limits.max_members:
                raise one_too_many(name, self._limits)
        self._held.clear()
        self._book = NameBook(self._limits)
        self._held_bytes = 0


def refuse_taken(out: Path) -> None:
    """Nothing is written over, and no folder made on the way."""
    if out.exists() and not _is_empty_folder(out):
        raise ReplayError("there is something already", path=str(out), remedy="Choose another name for it")
    if not out.parent.is_dir():
        raise ReplayError("its folder does not exist", path=str(out), remedy="Make the folder first")


def suffix_of(out: Path) -> str:
    """The suffix that names a container; empty for a folder."""
    return next((one for one in SUFFIXES[::-1] if out.name.endswith(one)), "")


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())
