"""A bounded, incremental reader of `multipart/form-data`: the file's bytes pass through, nothing is ever held whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message

PREAMBLE_BYTES = 1024
HEADER_BYTES = 8 * 1024
PARTS = 32


class MultipartError(Exception):
    """The body is not the form that its content type promises."""

    def __init__(self, why: str, offset: int) -> None:
        super().__init__(f"The form is malformed at offset {offset}: {why}.")
        self.why = why
        self.offset = offset


@dataclass(frozen=True, slots=True)
class PartBegun:
    name: str
    filename: str | None


@dataclass(frozen=True, slots=True)
class PartData:
    data: bytes


@dataclass(frozen=True, slots=True)
class PartEnded:
    pass


PartEvent = PartBegun | PartData | PartEnded


def boundary_of(content_type: str) -> bytes | None:
    """The boundary that a Content-Type header names; None where it names no form."""
    message = Message()
    message["Content-Type"] = content_type
    boundary = message.get_boundary("")
    if message.get_content_type() != "multipart/form-data" or not 1 <= len(boundary) <= 70 or not boundary.isascii():
        return None
    return boundary.encode("ascii")


class MultipartReader:
    """Feed it the body's chunks; it gives back what they complete. `close` raises where the form breaks off."""

    def __init__(self, boundary: bytes) -> None:
        self._delimiter = b"\r\n--" + boundary
        # The first delimiter has no line break before it: as if one had come, it is found like all others.
        self._held = bytearray(b"\r\n")
        self._offset = -2
        self._parts = 0
        self._step = self._preamble

    def feed(self, chunk: bytes) -> Iterator[PartEvent]:
        """What this chunk completes, in order."""
        self._held += chunk
        while True:
            before = (len(self._held), self._step)
            yield from self._step()
            if (len(self._held), self._step) == before:
                return

    def close(self) -> None:
        """Raises unless the closing delimiter has come."""
        if self._step != self._epilogue:
            raise self._error("it ends before its closing boundary")

    def _error(self, why: str) -> MultipartError:
        return MultipartError(why, max(self._offset, 0))

    def _drop(self, count: int) -> bytes:
        taken = bytes(self._held[:count])
        del self._held[:count]
        self._offset += count
        return taken

    def _preamble(self) -> Iterator[PartEvent]:
        at = self._held.find(self._delimiter)
        if at < 0:
            if len(self._held) > PREAMBLE_BYTES:
                raise self._error("its boundary does not come")
            return
        self._drop(at + len(self._delimiter))
        self._step = self._after_delimiter
        yield from ()

    def _after_delimiter(self) -> Iterator[PartEvent]:
        if self._held.startswith(b"--"):
            self._step = self._epilogue
            return
        line_end = self._held.find(b"\r\n")
        if line_end < 0 and len(self._held) <= PREAMBLE_BYTES:
            return
        if line_end < 0 or self._held[:line_end].strip(b" \t"):
            raise self._error("a boundary is followed by something else than a line break")
        self._drop(line_end + 2)
        self._parts += 1
        if self._parts > PARTS:
            raise self._error(f"it has more than {PARTS} parts")
        self._step = self._headers
        yield from ()

    def _headers(self) -> Iterator[PartEvent]:
        end = self._held.find(b"\r\n\r\n")
        if end < 0 or end > HEADER_BYTES:
            if len(self._held) > HEADER_BYTES:
                raise self._error(f"the headers of a part pass {HEADER_BYTES} bytes")
            return
        begun = self._part(bytes(self._held[:end]))
        self._drop(end + 4)
        self._step = self._body
        yield begun

    def _part(self, header: bytes) -> PartBegun:
        message = Message()
        for line in header.split(b"\r\n"):
            name, colon, value = line.partition(b":")
            if not colon:
                raise self._error("a part's header has no colon")
            message[_text(name.strip())] = _text(value.strip())
        if message.get_content_disposition() != "form-data":
            raise self._error("a part is not form-data")
        field = message.get_param("name", header="content-disposition")
        if not isinstance(field, str):
            raise self._error("a part has no name")
        return PartBegun(field, message.get_filename())

    def _body(self) -> Iterator[PartEvent]:
        at = self._held.find(self._delimiter)
        if at >= 0:
            if at:
                yield PartData(self._drop(at))
            self._drop(len(self._delimiter))
            self._step = self._after_delimiter
            yield PartEnded()
            return
        # All but what could be the beginning of a delimiter.
        passed = len(self._held) - len(self._delimiter) + 1
        if passed > 0:
            yield PartData(self._drop(passed))

    def _epilogue(self) -> Iterator[PartEvent]:
        self._drop(len(self._held))
        yield from ()


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").replace("\r", " ").replace("\n", " ")
