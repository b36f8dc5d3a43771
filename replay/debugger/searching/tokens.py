"""The words of the language of searches: text cut into tokens, each with the column where it begins."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from replay.debugger.searching.conditions import WrongSearch
from replay.errors import printable

MOST_TEXT = 2_000
TokenKind = Literal["word", "number", "text", "sign", "end"]

_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>-?[0-9][0-9_]*(?:\.[0-9]+)?)(?![\w.])"
    r"|(?P<united>-?[0-9][0-9_]*(?:\.[0-9]+)?)(?=(?:us|µs|ms|s|min|B|KiB|MiB|GiB)\b)"
    r"|(?P<word>[^\W\d][\w.-]*)"
    r"|(?P<text>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
    r"|(?P<sign><=|>=|!=|==|=|<|>|\(|\)|,)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """`value` is what it stands for: of a text, what is between the quotes."""

    kind: TokenKind
    value: str
    column: int

    @property
    def shown(self) -> str:
        """As a sentence names it."""
        return "the end" if self.kind == "end" else repr(printable(self.value, 40))


def tokens_of(text: str) -> list[Token]:
    """All of them, with one at the end that says so. Raises `WrongSearch` at the first character that begins none."""
    if len(text) > MOST_TEXT:
        raise WrongSearch(f"the search is longer than {MOST_TEXT:,} characters", column=MOST_TEXT + 1)
    if not encodable(text):
        raise WrongSearch("the search holds half a character", column=1, remedy="Write it as text in UTF-8")
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _no_token(text, at)
        kind, value = match.lastgroup, match.group()
        if kind == "text":
            found.append(Token("text", re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL), at + 1))
        elif kind in ("number", "united"):
            found.append(Token("number", value.replace("_", ""), at + 1))
        elif kind == "word":
            found.append(Token("word", value, at + 1))
        elif kind == "sign":
            found.append(Token("sign", "=" if value == "==" else value, at + 1))
        at = match.end()
    return [*found, Token("end", "", len(text) + 1)]


def quoted(text: str) -> str:
    """As a text stands in a search."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def encodable(text: str) -> bool:
    """Whether it is text that can be written down: JSON can hold halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_token(text: str, at: int) -> WrongSearch:
    if text[at] in "\"'":
        return WrongSearch("this text is not closed", column=at + 1, remedy=f"End it with {text[at]}")
    if text[at].isdigit() or (text[at] == "-" and text[at + 1 : at + 2].isdigit()):
        return WrongSearch("a number is followed by what is no unit", column=at + 1, remedy="Put names in quotes")
    return WrongSearch(
        f"nothing begins with {printable(text[at])!r}", column=at + 1, remedy="Put channels and other text in quotes"
    )
