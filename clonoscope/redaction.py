"""What may not leave: values at given paths, all but those that are listed, or all, become tokens; equal values become
equal tokens, wherever the key is the same."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
import re
import secrets
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from clonoscope.errors import WrongUse
from clonoscope.json_values import json_in
from clonoscope.shapes import EVENT_NUMBERS, writable
from replay.model import json_bytes

KEY_VARIABLE = "CLONOSCOPE_KEY_FILE"
# What a value is called that has no name of its own.
VALUE, KEY, ID, MESSAGE = "value", "key", "id", "message"
_TOKEN_BYTES = 16
_KEY_LEAST_BYTES = 16
Path_ = tuple[str, ...]


class Redaction:
    """Of one recording. Who has tokens can't try values against them: that takes the key, which never leaves."""

    def __init__(
        self,
        redact: Sequence[str] = (),
        *,
        allow: Sequence[str] | None = None,
        everything: bool = False,
        key: bytes | None = None,
    ):
        """`redact` paths become tokens. With `allow` all but what those name does, and with `everything` all."""
        self._redact = [_path("redact", one) for one in redact]
        self._quoted = _quoted(self._redact)
        self._allow = None if allow is None else [_path("allow", one) for one in allow]
        self._everything = everything
        # Whether anything is kept from leaving.
        self.active = bool(everything or redact or allow is not None)
        self.keyed = key is not None
        self._key = secrets.token_bytes(32) if key is None else hashlib.sha256(b"clonoscope tokens" + key).digest()

    @property
    def paths(self) -> list[str]:
        """As a manifest lists them: what is redacted, and behind `!` what is not."""
        if self._everything:
            return ["*"]
        allowed = [] if self._allow is None else ["*", *(f"!{'.'.join(one)}" for one in self._allow)]
        return [*(".".join(one) for one in self._redact), *allowed]

    # --- values ---

    def kept(self, value: Any, name: str = VALUE) -> Any:
        """The value as it may leave. `name` is what stands for a path where the value is no object."""
        if self._everything:
            return self._token(value)
        if self._redact:
            value = self._without(value, name)
        return value if self._allow is None else self._listed(value, name, self._allow)

    def message(self, text: str) -> Any:
        """What an exception says: it is not known what it was made of, so nothing of it is known to be harmless."""
        allowed = self._allow is not None and (MESSAGE,) in self._allow
        # Half of a pair can't be written, and is no reason to fail a job that fails already.
        return text if not self.active or allowed else self._token(text.encode("utf-8", "backslashreplace").decode())

    def source(self, site: dict[str, Any]) -> dict[str, Any]:
        """A place in the source: a line may hold the very values."""
        return {**site, "text": ""} if self.active else site

    def event(self, fields: dict[str, Any]) -> dict[str, Any]:
        """What a job says of itself; what the format counts in an event is no value, unless it is named."""
        if not self.active:
            return fields
        found = {}
        for name, value in fields.items():
            counts = name in EVENT_NUMBERS and type(value) is int and (name,) not in self._redact
            found[name] = value if counts or value is None else _as_text(self.kept(value, name))
        return found

    def digest(self, data: bytes, size: int) -> bytes:
        """A short hash of a record, by which it is known again."""
        return hashlib.blake2b(data, digest_size=size, key=self._key if self.active else b"").digest()

    def hashing(self) -> Any:
        """A SHA-256 of records; with the key, where values must not be guessed by it."""
        return hmac.new(self._key, digestmod=hashlib.sha256) if self.active else hashlib.sha256()

    def hashed(self, sha256: str) -> dict[str, str]:
        """A hash as it may leave."""
        if not self.active:
            return {"sha256": sha256}
        return {"keyed": hmac.new(self._key, sha256.encode(), hashlib.sha256).hexdigest()}

    # --- paths ---

    def _without(self, value: Any, name: str) -> Any:
        nameless = not isinstance(value, dict) or _bytes_of(value) is not None
        if nameless and any(one in (("*",), (name,)) for one in self._redact):
            return self._token(value)
        return self._within(value, self._redact)

    def _within(self, value: Any, paths: Sequence[Path_]) -> Any:
        """Paths may begin at any depth, and lists between are no part of them: what is meant must not slip through."""
        if isinstance(value, list):
            return [self._within(one, paths) for one in value]
        if isinstance(value, str):
            return self._within_text(value, paths)
        if not isinstance(value, dict):
            return value
        if (data := _bytes_of(value)) is not None:
            # Bytes stay as they are, or go: nothing else is the same as what they were.
            harmless = all(self._within_text(text, paths) == text for text in _texts_of(data))
            return value if harmless else self._token(value)
        found = {}
        for key, one in value.items():
            below = [*self._below(key, paths), *self._redact]
            found[key] = self._token(one) if () in below else self._within(one, below)
        return found

    def _below(self, key: str, paths: Sequence[Path_]) -> list[Path_]:
        """What is left of paths that lead by a name; one with dots may be several names, as in a flat row."""
        named = key if key.isascii() else unicodedata.normalize("NFC", key)
        found = [path[1:] for path in paths if path[0] in ("*", named)]
        if "." in named:
            names = named.split(".")
            found += [rest for path in paths if (rest := _rest(path, names)) is not None]
            for begin in range(1, len(names)):
                found += [rest for path in self._redact if (rest := _rest(path, names[begin:])) is not None]
        return found

    def _within_text(self, text: str, paths: Sequence[Path_]) -> Any:
        """JSON within a text is looked into as well; lines of it, and what else has a name in quotes, go as a whole."""
        inner = json_in(text.strip())
        if not isinstance(inner, dict | list):
            named = self._quoted is not None and self._quoted.search(unicodedata.normalize("NFC", text))
            return self._token(text) if named else text
        found = self._within(inner, paths)
        return text if found == inner else json_bytes(found).decode()

    def _listed(self, value: Any, name: str, paths: Sequence[Path_]) -> Any:
        """From the top only, so that nothing leaves that happens to be called the same further down."""
        if isinstance(value, list):
            return [self._listed(one, name, paths) for one in value]
        if not isinstance(value, dict) or _bytes_of(value) is not None or _is_token(value):
            return value if _is_token(value) or _matches(paths, name) else self._token(value)
        found: dict[str, Any] = {}
        for key, one in value.items():
            below = [path[1:] for path in paths if path[0] in ("*", key)]
            if not below:
                # A key that nobody listed may be a value itself.
                found[self._token(key)["redacted"]] = self._token(one)
            elif () in below:
                found[key] = one
            else:
                found[key] = self._listed(one, "", below) if isinstance(one, dict | list) else self._token(one)
        return found

    def _token(self, value: Any) -> dict[str, str]:
        digest = hmac.new(self._key, json_bytes(value), hashlib.sha256).hexdigest()
        return {"redacted": digest[: 2 * _TOKEN_BYTES]}


def key_of(key: bytes | str | os.PathLike[str] | None) -> bytes | None:
    """The key that a job's owner gives: bytes, or a file that holds them; else the file that the environment names."""
    found = os.environ.get(KEY_VARIABLE) if key is None else key
    if not found:
        return None
    if not isinstance(found, bytes):
        try:
            found = Path(found).read_bytes().strip()
        except OSError as fault:
            raise WrongUse(
                f"the key of tokens can't be read: {fault.strerror}", path=str(found), remedy="Name a file"
            ) from fault
    if len(found) < _KEY_LEAST_BYTES:
        raise WrongUse(
            f"the key of tokens has {len(found)} bytes", remedy=f"Give {_KEY_LEAST_BYTES} random bytes or more"
        )
    return found


def said(kept: Any) -> str:
    """What was kept of a text, as a text."""
    return f"redacted {kept['redacted']}" if _is_token(kept) else str(kept)


def _as_text(kept: Any) -> Any:
    return said(kept) if _is_token(kept) else kept


def _path(argument: str, path: str) -> Path_:
    if not isinstance(path, str) or not path or not all(path.split(".")) or not writable(path):
        raise WrongUse(
            f"{argument} names the path {path!r}", remedy="A path is names with dots between: customer.email, *.iban"
        )
    return tuple(unicodedata.normalize("NFC", path).split("."))


def _rest(path: Path_, names: Sequence[str]) -> Path_ | None:
    """Of a path, behind those names; None where they lead elsewhere."""
    both = list(zip(path, names, strict=False))
    return path[len(both) :] if all(one in ("*", name) for one, name in both) else None


def _quoted(paths: Sequence[Path_]) -> re.Pattern[str] | None:
    """Where what a path leads to is named within a text: in quotes, which may be escaped, as may be letters."""
    named = {next((name for name in reversed(path) if name != "*"), "") for path in paths} - {""}
    forms = {re.escape(form) for name in named for form in (name, json.dumps(name)[1:-1])}
    return re.compile(rf"""["'](?:{"|".join(sorted(forms))})\\*["']""") if forms else None


def _matches(paths: Sequence[Path_], name: str) -> bool:
    return any(path == () or path in (("*",), (name,)) for path in paths)


def _is_token(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"redacted"}


def _bytes_of(value: dict[str, Any]) -> bytes | None:
    if set(value) != {"b64"} or not isinstance(value["b64"], str):
        return None
    try:
        return base64.b64decode(value["b64"], validate=True)
    except binascii.Error:
        return None


def _texts_of(data: bytes) -> Iterator[str]:
    """What bytes are, read as each of the forms that JSON may have."""
    for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"):
        try:
            yield data.decode(encoding)
        except UnicodeDecodeError:
            continue
