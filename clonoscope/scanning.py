"""Looks for secrets in a bundle before it leaves: in its texts, in JSON within texts, in base64 and in wide letters.

What is found is named by its place and its kind, and never repeated.
"""

from __future__ import annotations

import base64
import binascii
import bisect
import contextlib
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from clonoscope.secret_rules import secrets_in
from replay.bundle.container import Readable
from replay.bundle.containers import open_container
from replay.errors import printable

_PIECE_CHARS = 8 << 20
_OVERLAP_CHARS = 16 << 10
_LEAST_KNOWN = 8
_NESTED_MOST = 4
_SECRET_NAMES = re.compile(r"pass|secret|token|key|credential|auth|private", re.IGNORECASE)

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SHORT_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}
_WIDE = re.compile("\0()()")
_PERCENT = re.compile(r"%()([0-9a-fA-F]{2})")
_PERCENTS = re.compile(r"%(?:3[adAD]|40|2[2fF])")
# In lines too, as mail has it, also where their ends are escaped.
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}(?:(?:(?:\\+[rn])+|\r?\n)[A-Za-z0-9+/_-]{16,})*={0,2}")
_LINE_END = re.compile(r"\\+[rn]|\r?\n")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){20,}")
_PACKED = (b"\x1f\x8b", b"\x78\x9c", b"\x78\x01", b"\x78\xda")
_UNPACKED_MOST = 1 << 20


@dataclass(frozen=True, slots=True)
class Secret:
    """Something that should not leave. `line` counts from 1, where the member has lines; `offset` is of its bytes."""

    member: str
    offset: int
    line: int | None
    kind: str

    def __str__(self) -> str:
        where = f"byte {self.offset:,}" if self.line is None else f"line {self.line:,}"
        return f"{self.member}, {where}: {self.kind}"


def scan(bundle: Path, environment: Mapping[str, str] | None = None) -> list[Secret]:
    """What looks like a secret, by member and place. `environment`: variables whose values must not be in it either."""
    known = {
        f"the value of the variable {name}": value
        for name, value in (environment or {}).items()
        if _SECRET_NAMES.search(name) and len(value) >= _LEAST_KNOWN and not value.startswith("/")
    }
    found: dict[tuple[str, int, str], Secret] = {}
    with open_container(bundle) as container:
        for name, _, stream in container.members():
            for one in _in_member(printable(name), stream, known):
                found.setdefault((one.member, one.line or one.offset, one.kind), one)
    return list(found.values())


def _in_member(name: str, stream: Readable, known: Mapping[str, str]) -> Iterator[Secret]:
    """Piece by piece, each with the end of the one before: what stands across both is found as well."""
    lined, offset, lines, rest = name.endswith((".json", ".ndjson")), 0, 1, ""
    while data := stream.read(_PIECE_CHARS):
        text = rest + data.decode("latin-1")  # a byte is a letter, so that offsets are those of bytes
        ends: list[int] = []  # of lines, looked for once where there is anything to tell
        for at, kind in _in_text(text, known):
            if lined and not ends:
                ends = [*_line_ends(text), len(text)]
            yield Secret(name, offset + at, lines + bisect.bisect_left(ends, at) if lined else None, kind)
        rest = text[-_OVERLAP_CHARS:]
        gone = len(text) - len(rest)
        offset, lines = offset + gone, lines + text.count("\n", 0, gone)


def _line_ends(text: str) -> Iterator[int]:
    at = text.find("\n")
    while at >= 0:
        yield at
        at = text.find("\n", at + 1)


def _in_text(text: str, known: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Also within what is written in other letters, and within that; all that is in one is looked through at once."""
    places, suffix = _Places(), ""
    for _ in range(_NESTED_MOST):
        for seen, formed in _forms(text, places):
            for at, kind in secrets_in(seen, known):
                yield formed.of(at), kind + suffix
        text, places = _decoded(text, places)
        suffix = ", in base64"
        if not text:
            return


def _decoded(text: str, before: _Places) -> tuple[str, _Places]:
    """What base64 and hexadecimal digits in it stand for, one behind the other."""
    parts, places, length = [], _Places(before), 0
    for match in _BASE64.finditer(text):
        for inner in _meant(match[0]):
            places.add(length, match.start(), whole=True)
            parts.append(inner + "\n\n")
            length += len(inner) + 2
    return "".join(parts), places


def _meant(written: str) -> Iterator[str]:
    if _HEX.fullmatch(written):
        data = bytes.fromhex(written)
        if data.isascii():
            yield data.decode()
        return
    joined = _LINE_END.sub("", written).rstrip("=").translate({45: 43, 95: 47})
    try:
        data = base64.b64decode(joined + "=" * (-len(joined) % 4), validate=True)
    except (ValueError, binascii.Error):
        return
    yield data.decode("latin-1")
    if data.startswith(_PACKED):
        with contextlib.suppress(zlib.error):
            yield zlib.decompressobj(wbits=47).decompress(data, _UNPACKED_MOST).decode("latin-1")


class _Places:
    """Where letters of a text stood before some of it was left out."""

    def __init__(self, before: _Places | None = None):
        self._before = before
        self._at: list[int] = [0]
        self._was: list[int] = [0]
        self._whole = False

    def add(self, at: int, was: int, *, whole: bool = False) -> None:
        """From here on; `whole`: all of it stood there."""
        self._at.append(at)
        self._was.append(was)
        self._whole = whole

    def of(self, at: int) -> int:
        """A place, as it was at the very first."""
        nearest = bisect.bisect_right(self._at, at) - 1
        was = self._was[nearest] + (0 if self._whole else at - self._at[nearest])
        return was if self._before is None else self._before.of(was)


def _forms(text: str, places: _Places) -> Iterator[tuple[str, _Places]]:
    """As it stands; without the zeros of wide letters; without the escapes of URLs; without those of JSON, as often as
    JSON stands in JSON."""
    yield text, places
    if "\0" in text:
        yield _without(text, _WIDE, places)
    if _PERCENTS.search(text):
        yield _without(text, _PERCENT, places)
    for _ in range(_NESTED_MOST):
        if "\\" not in text:
            return
        text, places = _without(text, _ESCAPE, places)
        yield text, places


def _without(text: str, pattern: re.Pattern[str], before: _Places) -> tuple[str, _Places]:
    parts, places, end, length = [], _Places(before), 0, 0
    for match in pattern.finditer(text):
        digits = match[2] if pattern is _PERCENT else match[1]
        made = chr(int(digits, 16)) if digits else _SHORT_ESCAPES.get(match[2], match[2])
        parts += [text[end : match.start()], made]
        length += match.start() - end + len(made)
        end = match.end()
        places.add(length, end)
    return "".join([*parts, text[end:]]), places
