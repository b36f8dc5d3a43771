"""What a recording says of the code that ran, and of what was taken out of it.

It stands in the manifest of an upload, where anything may stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from replay.debugger.redactions import paths_in_words
from replay.errors import printable
from replay.model import Manifest

MOST_SHOWN = 12
_LONGEST = 200
_NAMED = (
    ("git", "Git"),
    ("image", "Image"),
    ("python", "Python"),
    ("hash_seed", "Hash seed"),
    ("lock_sha256", "Lock file"),
)


@dataclass(frozen=True, slots=True)
class RecordedCode:
    """`redacted`: what became tokens, in words."""

    facts: list[tuple[str, str]]
    packages: list[str]
    redacted: str
    killed: int


def recorded_code(manifest: Manifest) -> RecordedCode:
    code, processes = _object(manifest.raw.get("code")), _object(manifest.raw.get("processes"))
    packages, paths = _object(code.get("packages")), manifest.raw.get("redactions")
    named = [one for one in paths if isinstance(one, str)] if isinstance(paths, list) else []
    killed = processes.get("killed")
    return RecordedCode(
        facts=[(title, text) for name, title in _NAMED if (text := _text(code.get(name)))],
        packages=sorted(f"{_text(name)} {_text(version)}" for name, version in packages.items()),
        redacted=paths_in_words(named, MOST_SHOWN),
        killed=killed if type(killed) is int else 0,
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return printable(value, _LONGEST) if isinstance(value, str) else ""
