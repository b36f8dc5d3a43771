"""Looks for secrets in a bundle before it leaves: in its texts, in JSON within texts, in base64 and in wide letters.

What is found is named by its place and its kind, and never repeated.
"""

from __future__ import annotations

import base64
import binascii
import bisect
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from replay.bundle.container import Readable
from replay.bundle.containers import open_container
from replay.errors import printable

_PIECE_CHARS = 8 << 20
_OVERLAP_CHARS = 16 << 10
_LEAST_KNOWN = 8
_NESTED_MOST = 4
_ENTROPY_LEAST_BITS = 3.0
_ENTROPY_LONG_BITS = 3.5
_LONG = 20
_SECRET_NAMES = re.compile(r"pass|secret|token|key|credential|auth|private", re.IGNORECASE)

_RULES = {
    "an AWS access key": r"\b(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}\b",
    "a Google API key": r"\bAIza[0-9A-Za-z_-]{35}",
    "a Google OAuth token": r"\bya29\.[0-9A-Za-z_-]{20,}",
    "a GitHub token": r"\b(?:gh[pousr]_[0-9A-Za-z]{30,}|github_pat_[0-9A-Za-z_]{22,})",
    "a GitLab token": r"\bglpat-[0-9A-Za-z_-]{20,}",
    "a Slack token": r"\bxox[abeoprs]-[0-9A-Za-z-]{10,}",
    "a Slack webhook": r"hooks\.slack\.com/services/T[0-9A-Za-z]+/B[0-9A-Za-z]+/[0-9A-Za-z]{16,}",
    "a Stripe key": r"\b[rs]k_live_[0-9A-Za-z]{16,}",
    "a JSON web token": r"\beyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}",
    "a private key": r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\bAGE-SECRET-KEY-1[0-9A-Z]{20,}",
    "a password in a URL": r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>\\]{0,100}:(?P<held>[^\s/@\"'<>\\]{3,200})@",
    "a secret in a URL's query": r"[?&;](?:[a-z_-]{0,20}(?:token|secret|passw(?:or)?d|apikey|api[_-]key|sig|auth)"
    r"|signature|key)=(?P<held>[^&\s\"'<>\\]{6,})",
    "credentials in a header": r"\b(?:Bearer|Basic)\s+(?P<held>[0-9A-Za-z+/=._~-]{16,})",
}  # fmt: skip
_NAMED = re.compile(
    r"(?:passw(?:or)?d|passphrase|\bpwd|secret|token|api[_-]?key|access[_-]?key|credential|private[_-]?key)"
    r"[\w-]{0,20}[\"'\s]{0,3}[:=]\s{0,3}(?P<quote>[\"']?)(?P<held>[^\s\"',;{}\[\]()<>\\]{8,200})",
    re.ASCII | re.IGNORECASE,
)
_COMPILED = {
    kind: re.compile(rule, re.ASCII | (re.IGNORECASE if "URL" in kind or "header" in kind else 0))
    for kind, rule in _RULES.items()
}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SHORT_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}
_WIDE = re.compile("\0()()")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_PLAIN = re.compile(r"[A-Za-z_.$]+")
_NOTHING = ("null", "none", "true", "false", "undefined", "redacted")


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
        for at, kind in _in_text(text, known):
            line = lines + text.count("\n", 0, at) if lined else None
            yield Secret(name, offset + at, line, kind)
        rest = text[-_OVERLAP_CHARS:]
        gone = len(text) - len(rest)
        offset, lines = offset + gone, lines + text.count("\n", 0, gone)


def _in_text(text: str, known: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    for seen, places in _forms(text):
        for at, kind in _secrets(seen, known):
            yield places.of(at), kind
    for match in _BASE64.finditer(text):
        inner = _decoded(match[0])
        for seen, _ in _forms(inner) if inner else ():
            for _, kind in _secrets(seen, known):
                yield match.start(), f"{kind}, in base64"


class _Places:
    """Where letters of a text stood before some of it was left out."""

    def __init__(self, before: _Places | None = None):
        self._before = before
        self._at: list[int] = [0]
        self._was: list[int] = [0]

    def add(self, at: int, was: int) -> None:
        """From here on."""
        self._at.append(at)
        self._was.append(was)

    def of(self, at: int) -> int:
        """A place, as it was at the very first."""
        nearest = bisect.bisect_right(self._at, at) - 1
        was = self._was[nearest] + at - self._at[nearest]
        return was if self._before is None else self._before.of(was)


def _forms(text: str) -> Iterator[tuple[str, _Places]]:
    """As it stands; without escapes, as often as JSON stands in JSON; without the zeros of wide letters."""
    places = _Places()
    yield text, places
    if "\0" in text:
        yield _without(text, _WIDE, places)
    for _ in range(_NESTED_MOST):
        if "\\" not in text:
            return
        text, places = _without(text, _ESCAPE, places)
        yield text, places


def _without(text: str, pattern: re.Pattern[str], before: _Places) -> tuple[str, _Places]:
    parts, places, end, length = [], _Places(before), 0, 0
    for match in pattern.finditer(text):
        made = chr(int(match[1], 16)) if match[1] else _SHORT_ESCAPES.get(match[2], match[2])
        parts += [text[end : match.start()], made]
        length += match.start() - end + len(made)
        end = match.end()
        places.add(length, end)
    return "".join([*parts, text[end:]]), places


def _decoded(text: str) -> str:
    try:
        padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
        return base64.b64decode(padded.translate({45: 43, 95: 47}), validate=True).decode("latin-1")
    except (ValueError, binascii.Error):
        return ""


def _secrets(text: str, known: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    for kind, rule in _COMPILED.items():
        for match in rule.finditer(text):
            yield match.start(), kind
    for match in _NAMED.finditer(text):
        if _is_secret(match["held"], quoted=bool(match["quote"]), is_password="pass" in match[0].lower()):
            yield match.start(), "a secret, by the name before it"
    for kind, value in known.items():
        at = text.find(value)
        while at >= 0:
            yield at, kind
            at = text.find(value, at + 1)


def _is_secret(held: str, *, quoted: bool, is_password: bool) -> bool:
    """Whether a value looks as if somebody had drawn it, or, of a password, chosen it."""
    if held.lower().startswith(_NOTHING) or len(set(held)) < 4:
        return False
    if is_password and (quoted or not _PLAIN.fullmatch(held)):
        return True
    bits = _entropy_bits(held)
    drawn = any(map(str.isdigit, held)) or (len(held) >= _LONG and bits >= _ENTROPY_LONG_BITS)
    return drawn and bits >= _ENTROPY_LEAST_BITS


def _entropy_bits(text: str) -> float:
    """Of a letter."""
    shares = [count / len(text) for count in Counter(text).values()]
    return -sum(share * math.log2(share) for share in shares)
