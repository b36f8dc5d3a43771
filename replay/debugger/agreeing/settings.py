"""The manifest, held against the command line that it says it was recorded with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.errors import ReplayError
from replay.jobs.catalogue import job_named
from replay.jobs.option_fields import flag_of, option_of
from replay.jobs.options import RecordOptions
from replay.jobs.record import RECORDER, protocol_of
from replay.model import Manifest
from replay.model.manifest_fields import manifest_json
from replay.protocols import PROTOCOLS

_COMPARED = ("clock", "determinants", "protocol", "vertices", "edges", "tasks")
_MADE_OF_ANOTHER = "excerpt"
"""In the manifest of a bundle that was cut out of another: the command is the other's."""
_BY_OWNER = frozenset({"operator"})
"""What whoever installs operators may call otherwise: that it isn't known here is said elsewhere."""


def check_settings(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first setting that this very recorder doesn't write for that command."""
    manifest = source.manifest
    expected = _manifest_of(manifest)
    if expected is None:
        return
    made, written = manifest_json(expected), manifest_json(manifest)
    for section in _COMPARED:
        for where, asked, logged in _differences(section, made[section], written[section]):
            raise DivergenceFound(
                f"job.json has {logged!r} as {where}, but what it names as its command, {manifest.job.command!r}, "
                f"makes {asked!r} of it.",
                member="job.json",
                setting=where,
                asked=repr(asked),
                logged=repr(logged),
            )


def options_of(manifest: Manifest) -> RecordOptions | None:
    """What this very recorder was asked to record; None where the command is none of this version's."""
    if manifest.job.recorder != RECORDER or _MADE_OF_ANOTHER in manifest.raw:
        return None
    try:
        options = _options(manifest.job.command.split())
    except (ReplayError, ValueError):
        return None
    return options if options is not None and options.protocol in PROTOCOLS else None


def _manifest_of(manifest: Manifest) -> Manifest | None:
    options = options_of(manifest)
    if options is None:
        return None
    try:
        sample = job_named(options.job)
        return sample.manifest(manifest.job, protocol_of(options, PROTOCOLS[options.protocol]()), options)
    except (ReplayError, ValueError):
        return None


def _options(words: list[str]) -> RecordOptions | None:
    if len(words) < 2 or words[0] != "record" or len(words) % 2:
        return None
    known = {flag_of(one): one for one in fields(RecordOptions) if option_of(one) is not None}
    given: dict[str, Any] = {}
    for flag, text in zip(words[2::2], words[3::2], strict=True):
        if flag not in known:
            return None
        name, option = known[flag].name, option_of(known[flag])
        if isinstance(known[flag].default, tuple):
            given[name] = (*given.get(name, ()), text)
        elif option is not None:
            given[name] = option.value(flag, text)
    return RecordOptions(job=words[1], **given)


def _differences(where: str, made: Any, written: Any) -> Iterator[tuple[str, Any, Any]]:
    """(where, what the command makes, what is written): of what both have, and of what only the one has.

    An option of an operator that is not written at all was none yet when the recording was made.
    """
    if isinstance(made, Mapping) and isinstance(written, Mapping):
        for key in made:
            if key not in _BY_OWNER and (key in written or not where.endswith(".options")):
                yield from _differences(f"{where}.{key}", made[key], written.get(key))
    elif isinstance(made, list) and isinstance(written, list) and len(made) == len(written):
        for number, (one, other) in enumerate(zip(made, written, strict=True)):
            yield from _differences(f"{where}[{number}]", one, other)
    elif made != written:
        yield where, made, written
