"""Where the outside is: `sqlite:shop.db?table=orders`, and who reads what is there.

Only a command's user names such a place. Nothing that a server takes from afar comes here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from replay.errors import ReplayError, WrongSetting, printable
from replay.guarantees.outside.rows import Outside

_SCHEME = re.compile(r"([a-z][a-z-]*):(.*)", re.DOTALL | re.ASCII)


@dataclass(frozen=True, slots=True)
class Address:
    """A place. `whole` is never shown: it may hold a password."""

    scheme: str
    path: str
    options: Mapping[str, str]
    whole: str

    @property
    def file(self) -> Path:
        """The path, which must be there."""
        path = Path(self.path)
        if not self.path or not path.exists():
            raise ReplayError("there is no such file", path=self.path or self.scheme, remedy="Name one that is there")
        return path

    @property
    def table(self) -> str:
        """The table that is asked for."""
        found = self.options.get("table")
        if not found:
            raise WrongSetting(f"{self.scheme}: needs a table", remedy="Name it at the end: ?table=orders")
        return found


Reader = Callable[[Address], Outside]


def parse_address(text: str, schemes: Mapping[str, Reader]) -> Address:
    """Raises `WrongSetting` for what can't be meant so."""
    found = _SCHEME.fullmatch(text)
    if found is None or found[1] not in schemes:
        named = ", ".join(f"{one}:" for one in schemes)
        raise WrongSetting(f"“{_scheme_of(text)}” is nothing that can be read as an outside", remedy=f"Name {named}")
    path, mark, query = found[2].rpartition("?")
    if not mark or "=" not in query:
        path, query = found[2], ""
    return Address(found[1], path, dict(parse_qsl(query, keep_blank_values=True)), text)


def _scheme_of(text: str) -> str:
    """As much of an address as can be shown whatever it holds."""
    return printable(text.partition(":")[0], 60)


def open_address(text: str, readers: Mapping[str, Reader]) -> Outside:
    """What is there, ready to be read; raises `ReplayError` where nothing is, or nothing of the kind."""
    address = parse_address(text, readers)
    return readers[address.scheme](address)


def host_of(address: Address) -> str:
    """A server without who asks it."""
    parts = urlsplit(address.whole)
    return printable(parts.hostname or "localhost")
