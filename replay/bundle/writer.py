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
from replay.bundle.names import NameBook
from replay.bundle.pack import storing
from replay.errors import BundleError, InvariantError, ReplayError, check
from replay.model import Manifest

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tar.zst")
_HELD_BYTES = 32 << 20


class BundleWriter:
    """Collects members beside `out` and moves them there at `close`; `abort` leaves nothing behind."""

    def __init__(self, out: Path | str):
        self.out = Path(out)
        if self.out.exists() and not _is_empty_folder(self.out):
            raise ReplayError("there is something already", path=str(self.out), remedy="Choose another name for it")
        if not self.out.parent.is_dir():
            raise ReplayError("its folder does not exist", path=str(self.out), remedy="Make the folder first")
        self._suffix = next((one for one in SUFFIXES[::-1] if self.out.name.endswith(one)), "")
        self._book = NameBook(Limits())
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
        try:
            self._book.admit_file(name.encode("utf-8", "surrogatepass"))
        except BundleError as fault:
            raise InvariantError(f"{name!r} cannot be a member: {fault.why}") from None

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
            with open(target, "ab") as stream:
                stream.write(data)
        self._held.clear()
        self._held_bytes = 0


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())
