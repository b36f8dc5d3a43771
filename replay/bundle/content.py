"""The content id: what makes two bundles the same, whatever they are packed in and whenever they were recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Protocol

from replay.errors import BundleError
from replay.model import json_bytes, read_json


class HasMembers(Protocol):
    """What the content id asks of a bundle."""

    @property
    def members(self) -> Digests:
        """The members, by name."""
        ...


class Digests(Protocol):
    """Names and digests of members."""

    def names(self) -> Iterable[str]:
        """All names, in order."""
        ...

    def digest(self, name: str) -> bytes:
        """A member's SHA-256; for the manifest, `manifest_digest`."""
        ...


def content_id(bundle: HasMembers) -> str:
    """The content id of an open bundle."""
    return content_id_of((name, bundle.members.digest(name)) for name in bundle.members.names())


def content_id_of(digests: Iterable[tuple[str, bytes]]) -> str:
    """SHA-256 over (path, SHA-256 of member) in order of paths; the manifest's digest is `manifest_digest`."""
    whole = hashlib.sha256()
    for name, digest in digests:
        whole.update(name.encode() + b"\0" + digest)
    return whole.hexdigest()


def manifest_digest(data: bytes) -> bytes:
    """The digest of a manifest without the time at which it was recorded."""
    try:
        manifest: Any = read_json(data)
    except ValueError as fault:
        raise BundleError(
            f"the manifest is not JSON: {fault}", path="job.json", remedy="Record the job again, or repair the file"
        ) from None
    if isinstance(manifest, dict) and isinstance(manifest.get("job"), dict):
        manifest = {**manifest, "job": {**manifest["job"], "recorded_at": ""}}
    return hashlib.sha256(json_bytes(manifest)).digest()
