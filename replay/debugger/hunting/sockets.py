"""What comes and goes over connections that are there already: the interpreter itself tells only that they begin."""

from __future__ import annotations

import _socket
import sys
from typing import Any

_READS = ("recv", "recv_into", "recvfrom", "recvfrom_into", "recvmsg", "recvmsg_into", "_accept")
_SENDS = ("send", "sendall", "sendmsg")
_SECURE = ("read", "write")
_NAMES = frozenset((*_READS, *_SENDS, *_SECURE))
_INTERNET = (_socket.AF_INET, _socket.AF_INET6)


def passing(owner: Any, name: str) -> tuple[str, str] | None:
    """(call, peer) of a method of C that is about to be called; None where it concerns no connection to others."""
    if name not in _NAMES:
        return None
    if isinstance(owner, _socket.socket) and name not in _SECURE:
        peer = _peer(owner)
        return None if peer is None else (f"socket.{name.lstrip('_')}", peer)
    secure = getattr(sys.modules.get("_ssl"), "_SSLSocket", None)
    if secure is not None and isinstance(owner, secure) and name in _SECURE:
        return f"ssl.{name}", _peer(owner.owner) or ""
    return None


def address(told: Any) -> str:
    """As it is shown."""
    if isinstance(told, tuple) and len(told) > 1:
        return f"{told[0]}:{told[1]}"
    return told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)


def host_of(url: str) -> str:
    """Without what may be secret of it."""
    return url.partition("//")[2].partition("/")[0].partition("?")[0].rpartition("@")[2]


def _peer(owner: Any) -> str | None:
    """Where it leads; none where that is this very process, as of the pairs that event loops wake themselves by."""
    try:
        peer = owner.getpeername()
    except (OSError, AttributeError):
        # It listens, or has no connection.
        return "" if getattr(owner, "family", None) in _INTERNET else None
    return address(peer) or None
