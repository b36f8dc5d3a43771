"""What `start` and tasks may be given: what can't be meant is refused before anything is recorded, or redacted,
otherwise."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from clonoscope.errors import WrongUse
from clonoscope.redaction import KEY_VARIABLE, Redaction, key_of
from clonoscope.shapes import writable

Payload = Literal["full", "ref", "none"]
Retry = Literal["replay"]
_PAYLOADS = ("full", "ref", "none")
_DUMPS = ("crash", "recovery", "exit")
_LARGEST = 1 << 62
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check_arguments(
    name: str,
    folder: str | os.PathLike[str],
    keep: int | None,
    max_mb: float,
    payload: str,
    retry: str | None,
    *,
    sync: bool,
) -> None:
    """Those that adapters take as well. Raises `WrongUse`."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise WrongUse(
            f"a recording can't be called {name!r}", remedy="Letters, digits, dots, dashes and underscores, at most 100"
        )
    if not isinstance(folder, str | os.PathLike) or "\0" in str(folder):
        raise WrongUse(f"dir is {folder!r}", remedy="It is a folder's name")
    if keep is not None and (type(keep) is not int or keep < 1):
        raise WrongUse(f"keep is {keep!r}", remedy="It is a number of epochs, 1 or more, or None for all")
    if type(max_mb) not in (int, float) or not 1 <= max_mb < float("inf"):
        raise WrongUse(f"max_mb is {max_mb!r}", remedy="It is a number of MiB, 1 or more")
    if payload not in _PAYLOADS:
        raise WrongUse(f"payload is {payload!r}", remedy=f"It is one of {', '.join(_PAYLOADS)}")
    if retry not in (None, "replay"):
        raise WrongUse(f"retry is {retry!r}", remedy="It is replay, or None: what is executed once more is asked anew")
    if type(sync) is not bool:
        raise WrongUse(f"sync is {sync!r}", remedy="It is True or False")


def check_when(dump_on: Iterable[str]) -> None:
    """When a bundle is written. Raises `WrongUse`."""
    _check_listed("dump_on", dump_on, ", ".join(_DUMPS))
    for one in dump_on:
        if one not in _DUMPS:
            raise WrongUse(f"dump_on names {one!r}", remedy=f"It names some of {', '.join(_DUMPS)}")


def check_code(code: Mapping[str, Any] | None) -> None:
    """What stands in a bundle as it is. Raises `WrongUse`."""
    if code is None or (isinstance(code, Mapping) and writable(dict(code))):
        return
    raise WrongUse("code is none that can be written as JSON", remedy="Give a dictionary of texts and numbers")


def redaction_for(
    redact: Sequence[str],
    allow: Sequence[str] | None,
    payload: str,
    key: bytes | str | os.PathLike[str] | None,
    retry: str | None,
) -> Redaction:
    """What may not leave. Raises `WrongUse`."""
    _check_listed("redact", redact, "customer.email, *.iban")
    if allow is not None:
        _check_listed("allow", allow, "order, lines.sku")
    if key is not None and not isinstance(key, bytes | str | os.PathLike):
        raise WrongUse("the key of tokens is neither bytes nor a file", remedy="Give 16 random bytes, or name a file")
    made = Redaction(redact, allow=allow, everything=payload == "none", key=key_of(key))
    if retry and made.active and not made.keyed:
        raise WrongUse(
            "what is redacted can't be compared with what another process redacted, as retries must",
            remedy=f"Give both a key of tokens: start(…, key=…), or the variable {KEY_VARIABLE} with a file's name",
        )
    return made


def whole(number: Any, what: str) -> int:
    """As an int, as which numpy's may be given too. Raises `WrongUse`."""
    try:
        found = operator.index(number)
    except TypeError:
        kind = type(number).__qualname__
        raise WrongUse(f"{what} is a whole number, not a value of the type {kind}") from None
    if not -_LARGEST <= found < _LARGEST:
        raise WrongUse(f"{what} has at most 62 bits")
    return found


def _check_listed(argument: str, names: Iterable[str], such_as: str) -> None:
    """A text is a collection of letters, each of which could be a name: nothing would be redacted by it. And what can
    be gone through once is empty for whoever comes next."""
    if isinstance(names, str | bytes | Mapping) or not isinstance(names, Collection):
        raise WrongUse(f"{argument} is {names!r}", remedy=f"It is a list of names, such as {such_as}")
