"""Reads a tar front to back. Written out here, since the library's reader takes a damaged header for the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from replay.bundle.container import Container, Readable
from replay.bundle.limits import SPLIT, Limits
from replay.bundle.names import NameBook, refusal
from replay.bundle.streams import PackedStream
from replay.errors import BundleError

BLOCK_BYTES = 512
_MAX_PAX_BYTES = 1 << 20
_REGULAR, _FOLDER, _PAX, _PAX_GLOBAL, _LONG_NAME, _LONG_LINK = b"0\x007", b"5", b"x", b"g", b"L", b"K"
_REFUSED = {b"1": "a hard link", b"2": "a link", b"3": "a device", b"4": "a device", b"6": "a pipe", b"S": "sparse"}
_COPY = "Copy the file again: it was damaged or its end is missing"
_PACK = "Pack the bundle again with an ordinary tar"


def looks_like_tar(head: bytes) -> bool:
    """Whether a file's first block is a tar header, or the end of an empty tar."""
    return len(head) == BLOCK_BYTES and (not head.strip(b"\0") or _checksum_holds(head))


def _checksum_holds(block: bytes) -> bool:
    try:
        claimed = _number(block[148:156])
    except ValueError:
        return False
    blanked = block[:148] + b" " * 8 + block[156:]
    return claimed == sum(blanked) or claimed == sum(byte - 256 if byte > 127 else byte for byte in blanked)


def _number(field: bytes) -> int:
    """Octal digits, or base 256 where the first bit is set. Raises ValueError."""
    if field[0] & 0x80:
        if field[0] != 0x80:
            raise ValueError("negative")
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if not digits.isdigit() and digits:
        raise ValueError("not octal")
    return int(digits or b"0", 8)


@dataclass(slots=True)
class _Override:
    """What extension headers say about the entry that follows them."""

    name: bytes | None = None
    size: int | None = None


class TarArchive(Container):
    """The members of a tar, however it is compressed."""

    def __init__(self, stream: PackedStream, limits: Limits, *, kind: str, path: str):
        self.kind = kind
        self.path = path
        self._stream = stream
        self._limits = limits
        self._at = 0

    def members(self) -> Iterator[tuple[str, int, Readable]]:
        """Every file as (name, size, stream), to the end marker; nothing may follow that."""
        book, override, total = NameBook(self._limits), _Override(), 0
        while block := self._header():
            kind = block[156:157]
            size = self._size(block)
            if kind in (_PAX, _PAX_GLOBAL, _LONG_NAME, _LONG_LINK):
                self._extend(override, kind, self._content(size))
                continue
            name, size = override.name or _name(block), size if override.size is None else override.size
            override = _Override()
            if not self._is_file(kind, name, size):
                book.admit_folder(name)
                continue
            admitted = book.admit_file(name)
            total += size
            self._check_bounds(admitted, size, total)
            member = _Member(self, admitted, size)
            yield admitted, size, member
            member.finish()
        self._check_nothing_follows()

    def close(self) -> None:
        """Lets go of the file."""
        self._stream.close()

    def read(self, size: int) -> bytes:
        """The next bytes of the tar; the archive must not end here."""
        data = self._stream.read(size)
        if not data:
            raise self.fault("the archive is cut short", _COPY)
        self._went_on(len(data))
        return data

    def _went_on(self, size: int) -> None:
        """Whatever it is that unpacks, members, headers or padding: all of it together has a bound."""
        self._at += size
        if self.kind != "tar":
            file_bytes = self._stream.used_bytes + self._stream.left_bytes
            self._limits.check_archive_ratio(self.path, self._at, file_bytes)

    def fault(self, why: str, remedy: str) -> BundleError:
        """A fault at the place where reading stands (of the unpacked tar)."""
        return BundleError(why, path=self.path, offset=self._at, remedy=remedy)

    @property
    def used_bytes(self) -> int:
        """How much of the packed file was used so far."""
        return self._stream.used_bytes

    def check_ratio(self, name: str, unpacked_bytes: int, packed_bytes: int) -> None:
        """A plain tar expands nothing."""
        if self.kind != "tar":
            self._limits.check_ratio(name, unpacked_bytes, packed_bytes)

    def skip(self, size: int) -> None:
        """Reads over bytes."""
        while size > 0:
            size -= len(self.read(min(size, 1 << 16)))

    def _exactly(self, size: int) -> bytes:
        data = self.read(size)
        while len(data) < size:
            data += self.read(size - len(data))
        return data

    def _header(self) -> bytes:
        """The next header; empty at the end marker, which is two blocks of zeros."""
        block = self._exactly(BLOCK_BYTES)
        if not block.strip(b"\0"):
            if self._exactly(BLOCK_BYTES).strip(b"\0"):
                raise self.fault("the end marker is broken", _COPY)
            return b""
        if not _checksum_holds(block):
            self._at -= BLOCK_BYTES
            raise self.fault("a header's checksum is wrong", _COPY)
        return block

    def _size(self, block: bytes) -> int:
        try:
            return _number(block[124:136])
        except ValueError:
            raise self.fault("a header's size is no number", _PACK) from None

    def _content(self, size: int) -> bytes:
        if size > _MAX_PAX_BYTES:
            raise self.fault(f"an extension header claims {size} bytes", _PACK)
        padded = -(-size // BLOCK_BYTES) * BLOCK_BYTES
        return self._exactly(padded)[:size] if size else b""

    def _extend(self, override: _Override, kind: bytes, content: bytes) -> None:
        if kind == _LONG_NAME:
            override.name = content.rstrip(b"\0")
        elif kind in (_PAX, _PAX_GLOBAL):
            for key, value in self._pax_records(content):
                self._apply_pax(override, key, value, everywhere=kind == _PAX_GLOBAL)

    def _pax_records(self, content: bytes) -> Iterator[tuple[bytes, bytes]]:
        at = 0
        while at < len(content):
            length, space, _ = content[at : at + 20].partition(b" ")
            if not space or not length.isdigit() or not length[0:1] != b"0":
                raise self.fault("a pax header is malformed", _PACK)
            record = content[at + len(length) + 1 : at + int(length)]
            key, equals, value = record[:-1].partition(b"=")
            if at + int(length) > len(content) or not equals or record[-1:] != b"\n":
                raise self.fault("a pax header is malformed", _PACK)
            yield key, value
            at += int(length)

    def _apply_pax(self, override: _Override, key: bytes, value: bytes, *, everywhere: bool) -> None:
        if key.startswith(b"GNU.sparse"):
            raise self.fault("the archive has a sparse member", _PACK)
        if key not in (b"path", b"size"):
            return
        if everywhere:
            raise self.fault(f"a pax header gives every member the same {key.decode()}", _PACK)
        if key == b"path":
            override.name = value
        elif len(value) > 19 or not value.isdigit():
            raise self.fault("a pax header's size is no number", _PACK)
        else:
            override.size = int(value)

    def _is_file(self, kind: bytes, name: bytes, size: int) -> bool:
        if kind in _REFUSED:
            raise refusal(name, f"the member is {_REFUSED[kind]}")
        if kind not in _REGULAR and kind != _FOLDER:
            raise refusal(name, f"the member is of a kind, {kind!r}, that is not understood")
        if kind == _FOLDER or name.endswith(b"/"):
            if size:
                raise refusal(name, "the member is a folder that claims content")
            return False
        return True

    def _check_bounds(self, name: str, size: int, total: int) -> None:
        self._limits.check_size(name, size)
        if total > self._limits.max_bytes:
            raise BundleError(
                f"the archive unpacks to more than {self._limits.max_bytes} bytes",
                path=self.path,
                remedy=SPLIT,
            )
        # What is left of the file is all that could unpack to it, so a gigantic declared size is refused unread.
        self.check_ratio(name, size, self._stream.left_bytes)

    def _check_nothing_follows(self) -> None:
        while data := self._stream.read(1 << 16):
            if data.strip(b"\0"):
                raise self.fault("something follows the archive's end marker", _COPY)
            self._went_on(len(data))


class _Member:
    """One member's content, which must be read before the next header."""

    def __init__(self, archive: TarArchive, name: str, size: int):
        self._archive, self._name, self._size = archive, name, size
        self._left = size
        self._used_before = archive.used_bytes

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes; none at the end."""
        wanted = self._left if size < 0 else min(size, self._left)
        if not wanted:
            return b""
        data = self._archive.read(wanted)
        while size < 0 and len(data) < wanted:
            data += self._archive.read(wanted - len(data))
        self._left -= len(data)
        return data

    def finish(self) -> None:
        """Skips what was not read, and judges the ratio now that the whole is known."""
        self._archive.skip(self._left)
        self._left = 0
        self._archive.check_ratio(self._name, self._size, self._archive.used_bytes - self._used_before)
        self._archive.skip(-self._size % BLOCK_BYTES)


def _name(block: bytes) -> bytes:
    name = block[:100].partition(b"\0")[0]
    prefix = block[345:500].partition(b"\0")[0] if block[257:263] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name
