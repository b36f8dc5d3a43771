"""An excerpt that was kept: replayed as a test, it says whether the code still goes wrong as it did."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clonoscope.onsite.execution import Asked, Execution
from clonoscope.onsite.held import Held, whole
from replay.bundle.reader import open_bundle
from replay.errors import ReplayError
from replay.model import read_json

_MANIFEST = "job.json"
_MANIFEST_BYTES = 16 << 20
# What reading another's file may raise, or a damaged one: it is none of ours then.
_DAMAGE = (
    OSError, KeyError, ValueError, RuntimeError, NotImplementedError, EOFError, zipfile.BadZipFile, zlib.error,
    lzma.LZMAError, struct.error,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of it."""

    passed: bool
    sentence: str
    detail: dict[str, Any]


def is_incident(path: Path) -> bool:
    """Whether a file is one, as its manifest says; read without unpacking anything else."""
    return _excerpt(path) is not None


def _excerpt(path: Path) -> dict[str, Any] | None:
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(_MANIFEST).file_size > _MANIFEST_BYTES:
                return None
            manifest = read_json(archive.read(_MANIFEST))
    except _DAMAGE:
        return None
    found = manifest.get("excerpt") if isinstance(manifest, dict) else None
    return found if isinstance(found, dict) and isinstance(found.get("app"), str) else None


def judged(path: Path) -> Judged:
    """Replays it here. One that diverged must be identical; one that failed must get past where it did."""
    excerpt = _excerpt(path)
    if excerpt is None:
        raise ReplayError("this is no excerpt of clonoscope minimise", path=str(path))
    with open_bundle(path) as opened:
        held = Held.of(whole(opened), str(excerpt.get("task")), int(excerpt.get("attempt", 0)))
        only = tuple(str(one) for one in excerpt.get("only", ()))
        one = Execution(held, Asked(excerpt["app"], only=only))
        outcome = one.run()
    detail, sentence = dict(outcome.detail), outcome.sentence
    shows = excerpt.get("shows")
    if not isinstance(shows, dict) or shows.get("kind") != "failed":
        return Judged(outcome.verdict == "identical", sentence, detail)
    if one.failed is not None:
        return Judged(False, sentence, detail)
    got_past = detail.get("past_failure") is True or (one.answers.at_the_end and outcome.verdict == "unknown")
    return Judged(got_past and not held.gaps, sentence, detail)
