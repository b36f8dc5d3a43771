"""Opens whatever a bundle comes in. What it is, its bytes say; its suffix is not believed."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from replay.bundle.container import Container, Readable
from replay.bundle.folder import Folder
from replay.bundle.limits import Limits
from replay.bundle.streams import GzipStream, PlainStream, ZstdStream
from replay.bundle.tar_archive import TarArchive, looks_like_tar
from replay.bundle.zip_archive import ZipArchive
from replay.errors import BundleError

__all__ = ["Container", "Limits", "Readable", "open_container"]

_AGE_MAGICS = (b"age-encryption.org/v1", b"-----BEGIN AGE ENCRYPTED FILE-----")
_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGICS = (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + i]) + b"\x2a\x4d\x18" for i in range(16)))
_HEAD_BYTES = 512
_NOT_A_BUNDLE = "A bundle is a directory, or that in one .zip, .tar, .tar.gz or .tar.zst"


def open_container(path: Path | str, limits: Limits | None = None) -> Container:
    """A directory, .zip, .tar, .tar.gz or .tar.zst; anything else is refused."""
    path, limits = Path(path), limits or Limits()
    if path.is_dir():
        return Folder(path, limits)
    if not path.is_file():
        why = "this is neither a file nor a directory" if path.exists() else "there is no such file"
        raise BundleError(why, path=str(path), remedy=_NOT_A_BUNDLE)
    file = open(path, "rb")  # noqa: SIM115 - the container owns it
    try:
        return _container_of(file, path.name, limits)
    except BaseException:
        file.close()
        raise


def _container_of(file: BinaryIO, name: str, limits: Limits) -> Container:
    head = file.read(_HEAD_BYTES)
    file.seek(0)
    if head.startswith(_AGE_MAGICS):
        raise BundleError("the file is encrypted", path=name, remedy="Decrypt it first: age --decrypt")
    if head.startswith(_ZIP_MAGICS):
        return ZipArchive(file, limits, path=name)
    if head.startswith(_GZIP_MAGIC):
        return TarArchive(GzipStream(file, path=name), limits, kind="tar.gz", path=name)
    if head.startswith(_ZSTD_MAGICS):
        return TarArchive(ZstdStream(file, path=name), limits, kind="tar.zst", path=name)
    if looks_like_tar(head):
        return TarArchive(PlainStream(file), limits, kind="tar", path=name)
    why = "the file is empty" if not head else "this is no archive that is understood"
    raise BundleError(why, path=name, offset=0, remedy=_NOT_A_BUNDLE)
