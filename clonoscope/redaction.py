"""What may not leave: values at given paths, or all of them, become tokens; equal values become equal tokens."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Any

from clonoscope.errors import WrongUse
from replay.model import json_bytes

_TOKEN_BYTES = 16


class Redaction:
    """Of one recording. The key stays in this process: who has a token can't try values against it."""

    def __init__(self, paths: Sequence[str], *, everything: bool = False):
        for path in paths:
            if not path or not all(path.split(".")):
                raise WrongUse(
                    f"redact names the path {path!r}",
                    remedy="A path is names with dots between: customer.email, *.iban",
                )
        self._paths = [tuple(path.split(".")) for path in paths]
        self._everything = everything
        # Whether anything is.
        self.active = everything or bool(paths)
        self._key = secrets.token_bytes(32)

    @property
    def paths(self) -> list[str]:
        """As a manifest lists them."""
        return ["*"] if self._everything else [".".join(path) for path in self._paths]

    def kept(self, value: Any) -> Any:
        """The value as it may leave."""
        if self._everything:
            return self._token(value)
        return self._within(value, self._paths) if self._paths else value

    def digest(self, data: bytes, size: int) -> bytes:
        """A short hash of a record, by which it is known again."""
        return hashlib.blake2b(data, digest_size=size).digest()

    def _within(self, value: Any, paths: Sequence[tuple[str, ...]]) -> Any:
        """Paths may begin at any depth, and lists between are no part of them: what is meant must not slip through."""
        if isinstance(value, list):
            return [self._within(one, paths) for one in value]
        if not isinstance(value, dict):
            return value
        found = {}
        for key, one in value.items():
            below = [path[1:] for path in paths if path[0] in ("*", key)]
            below += self._paths
            found[key] = self._token(one) if () in below else self._within(one, below)
        return found

    def _token(self, value: Any) -> dict[str, str]:
        digest = hmac.new(self._key, json_bytes(value), hashlib.sha256).hexdigest()
        return {"redacted": digest[: 2 * _TOKEN_BYTES]}
