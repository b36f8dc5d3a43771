"""Values that were taken out of a recording before it left: what they were can't be verified, whatever agrees."""

from __future__ import annotations

import re
from collections.abc import Iterator

from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.errors import printable

TOKEN = re.compile(rb'\{"redacted":"[^"]*"\}')
_CHUNK_BYTES = 1 << 20
# A token that lies across two chunks is met in the second, with so much of the first before it.
_OVERLAP_BYTES = 256
_PATHS_NAMED = 5


def redacted_in(source: RecordingSource, task: str) -> str:
    """Where something of a task is redacted, in words; nothing where nothing is."""
    paths = source.manifest.raw.get("redactions")
    if isinstance(paths, list) and paths:
        return f"{paths_in_words([str(path) for path in paths], _PATHS_NAMED)} in its values"
    if source.manifest.determinants != "extended":
        return ""
    for name in source.members.names(f"tasks/{task}/"):
        if name.endswith((".det", ".ndjson", ".json")) and _has_token(source, name):
            return f"a value in {printable(name)}"
    return ""


def paths_in_words(paths: list[str], most: int) -> str:
    """What a manifest says was redacted; behind `!` stands what was let through where all else was not."""
    if "*" not in paths:
        return _named(paths, most)
    through = [path[1:] for path in paths if path.startswith("!")]
    return f"everything but {_named(through, most)}" if through else "everything"


def _named(paths: list[str], most: int) -> str:
    more = f" and {len(paths) - most:,} more" if len(paths) > most else ""
    return ", ".join(printable(path) for path in paths[:most]) + more


def check_shown(source: RecordingSource, task: str) -> None:
    """Before it is said that all is the same: raises `Missing` where something is hidden."""
    where = redacted_in(source, task)
    if where:
        raise Missing(
            f"Not verifiable: {where} is redacted. What was executed agrees with all that the recording shows of "
            f"{task}; what it hides was held against nothing.",
            redacted=where,
        )


def hidden_instead_of(source: RecordingSource, task: str, found: DivergenceFound) -> Missing | None:
    """What is said in place of a divergence that redacted values may be all that is wrong with."""
    where = redacted_in(source, task)
    if not where:
        return None
    return Missing(
        f"Not verifiable: {where} is redacted, and the operator was given tokens in place of values. That may be why "
        f"it differs. What was found: {found.sentence}",
        **{**found.detail, "redacted": where},
    )


def _has_token(source: RecordingSource, name: str) -> bool:
    return any(TOKEN.search(piece) for piece in _pieces(source, name))


def _pieces(source: RecordingSource, name: str) -> Iterator[bytes]:
    before = b""
    with source.members.open(name) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            yield before + chunk
            before = chunk[-_OVERLAP_BYTES:]
