"""Bundles that are encrypted to a public key, in the age format, version 1 (X25519); through the package pyrage.

A bundle may have a key of its own, in a file: who deletes that file has shredded every copy of the bundle.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from replay.errors import ReplayError

SUFFIX = ".age"
_HEADS = (b"age-encryption.org/v1", b"-----BEGIN AGE ENCRYPTED FILE-----")
_SECRET = "AGE-SECRET-KEY-1"


def encrypt(path: Path, out: Path, recipients: Sequence[str], *, bundle_key: Path | None = None) -> Path:
    """Writes a bundle encrypted to those public keys, or to a key of its own that goes into `bundle_key`.

    With both, that file is encrypted to the public keys in turn. Raises `ReplayError`; nothing half-done is left.
    """
    age = _age()
    to = [_recipient(age, one) for one in recipients]
    if not to and bundle_key is None:
        raise ReplayError("nobody is named to encrypt to", remedy="Give --encrypt-to a public key (age1…)")
    if bundle_key is not None:
        own = age.x25519.Identity.generate()
        said = f"# opens {out.name}; who deletes this file has shredded the bundle\n{own}\n".encode()
        _write_new(bundle_key, age.encrypt(said, to) if to else said)
        to = [own.to_public()]
    try:
        with open(path, "rb") as plain:
            _through(out, lambda target: age.encrypt_io(plain, target, to))
    except BaseException:
        if bundle_key is not None:
            bundle_key.unlink(missing_ok=True)
        raise
    return out


def decrypt(path: Path, out: Path, identities: Sequence[Path], *, bundle_key: Path | None = None) -> Path:
    """The bundle again. `identities` are files with secret keys; `bundle_key` that of this bundle."""
    age = _age()
    known = [one for file in identities for one in _identities(age, file, [])]
    if bundle_key is not None:
        known = _identities(age, bundle_key, known)
    if not known:
        raise ReplayError("no secret key is named", remedy="Give --identity a file with one, or --bundle-key")
    with open(path, "rb") as sealed:
        if not sealed.read(64).startswith(_HEADS):
            raise ReplayError("this is not encrypted", path=str(path), offset=0, remedy="Use it as it is")
        sealed.seek(0)
        try:
            _through(out, lambda target: age.decrypt_io(sealed, target, known))
        except age.DecryptError as fault:
            raise ReplayError(
                f"none of the keys opens it, or it is damaged ({fault})",
                path=str(path),
                remedy="Name the key of this bundle; where that was deleted, nobody can read it any more",
            ) from None
    return out


def _age() -> Any:
    try:
        import pyrage
    except ImportError:
        raise ReplayError(
            "encryption needs the Python package pyrage", remedy="pip install 'clonoscope[encryption]'"
        ) from None
    return pyrage


def _recipient(age: Any, text: str) -> Any:
    try:
        return age.x25519.Recipient.from_str(text.strip())
    except age.RecipientError:
        raise ReplayError(f"{text!r} is no public key", remedy="It begins with age1, as age-keygen prints it") from None


def _identities(age: Any, path: Path, openers: Sequence[Any]) -> list[Any]:
    """Of a file; one that is encrypted itself is opened with those that are known."""
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise ReplayError(f"the key can't be read: {fault.strerror}", path=str(path), remedy="Name its file") from None
    try:
        if data.startswith(_HEADS):
            data = age.decrypt(data, list(openers)) if openers else b""
        lines = [line.strip() for line in data.decode().splitlines()]
        found = [age.x25519.Identity.from_str(line) for line in lines if line.startswith(_SECRET)]
    except (age.DecryptError, age.IdentityError, UnicodeDecodeError):
        found = []
    if not found:
        remedy = "Name a file that age-keygen wrote; a bundle's key that is encrypted itself needs --identity as well"
        raise ReplayError("here is no secret key that can be used", path=str(path), remedy=remedy)
    return found


def _write_new(path: Path, data: bytes) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as fault:
        why = f"the bundle's key can't be written: {fault.strerror}"
        raise ReplayError(why, path=str(path), remedy="Name a file that is not there") from None
    with open(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(handle)


def _through(out: Path, write: Any) -> None:
    """Under a name of its own until it is whole."""
    part = out.with_name(f".{out.name}.part")
    try:
        with open(part, "wb") as file:
            write(_Whole(file))
        os.replace(part, out)
    except OSError as fault:
        raise ReplayError(f"it can't be written: {fault.strerror}", path=str(out)) from fault
    finally:
        part.unlink(missing_ok=True)


class _Whole(io.RawIOBase):
    """A file whose every write takes all that it is given."""

    def __init__(self, file: IO[bytes]):
        super().__init__()
        self._file = file

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """All of it."""
        return self._file.write(data)
