"""Segments of a growing recording: what was decoded once, as files that later versions of the job's tables share."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingest.jobs.parts import PartSummary
from ingest.lake.log_index import LOG_INDEX
from ingest.lake.places import put_json
from ingest.lake.schema import COUNTS, FLOWS, SCHEMA_VERSION, SECONDS
from ingest.lake.writers import FileSummary
from ingest.transforms.channels import ChannelUnit, Standing
from ingest.transforms.places import TIMES, LogKey, Reject, in_columns, in_rows
from ingest.transforms.settled import Done, members_of
from replay.model import LogId, TaskId, Thread

FOLDER = "segments"
"""Of a version: what the next one needs and no page reads."""
GATHERED = (LOG_INDEX.name, COUNTS.name, SECONDS.name)
"""Tables of which the parts' files are put together anew for each version."""
FAN = 8
MOST_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Segment:
    """What was settled at one moment, and not before."""

    members: dict[str, int]
    """Those of logs and of lines, and how long they were."""
    beside: dict[str, int]
    """Those of channels."""
    upto: dict[str, int]
    """By channel, up to which epoch it was read."""
    bytes: int
    next_number: int
    """Of a part behind it."""
    summaries: list[PartSummary] = field(default_factory=list)


def done_by(segments: Sequence[Segment]) -> Done:
    """What these have read, one after the other."""
    upto: dict[str, int] = {}
    standing: dict[str, dict[int, Standing]] = {}
    for one in segments:
        upto |= one.upto
        for summary in one.summaries:
            standing |= summary.standing
    return Done(frozenset(name for one in segments for name in one.members), upto, standing)


def still_true(segments: Sequence[Segment], sizes: dict[str, int], channels: Iterable[ChannelUnit]) -> list[Segment]:
    """Those before the first of which a member has grown, or to whose epochs one was added."""
    known = {name for one in segments for name in one.beside}
    strangers: dict[str, int] = {}
    for unit in channels:
        epochs = [epoch for epoch, name in members_of(unit) if name not in known]
        if epochs:
            strangers[unit.channel] = min(epochs)
    kept = list[Segment]()
    for one in segments:
        same = all(sizes.get(name) == size for those in (one.members, one.beside) for name, size in those.items())
        if not same or any(strangers.get(channel, upto) < upto for channel, upto in one.upto.items()):
            break
        kept.append(one)
    return kept


def kept_beside(segments: Sequence[Segment], fresh_bytes: int) -> list[Segment]:
    """Without those that are decoded once more together with what is settled now, so that there are few of each size.

    What is of about the same size is put together by eights, so a byte is decoded anew but a few times.
    """
    kept = list(segments)
    while len(kept) >= FAN - 1:
        last = [one.bytes for one in kept[-(FAN - 1) :]]
        if max(last) > FAN * fresh_bytes or sum(last) + fresh_bytes > MOST_BYTES:
            break
        fresh_bytes += sum(last)
        kept = kept[: -(FAN - 1)]
    return kept


def share(files: Iterable[FileSummary], before: Path, staging: Path) -> None:
    """The files of a kept segment stand in the new version too."""
    for file in files:
        if file.table in GATHERED:
            _link(before / FOLDER / file.path, staging / FOLDER / file.path)
            _link(before / FOLDER / file.path, staging / file.path)
        else:
            _link(before / file.path, staging / file.path)


def keep(files: Iterable[FileSummary], staging: Path) -> None:
    """Files of a new segment that would be gone once they are gathered."""
    for file in files:
        if file.table in GATHERED:
            _link(staging / file.path, staging / FOLDER / file.path)


def _link(there: Path, here: Path) -> None:
    here.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(there, here)
    except PermissionError:  # a file system without hard links
        shutil.copyfile(there, here)


def write_segments(staging: Path, origin: str, segments: Sequence[Segment]) -> None:
    """`origin` says of what manifest they are: with another one nothing of them holds."""
    (staging / FOLDER).mkdir(exist_ok=True)
    told = {"schema_version": SCHEMA_VERSION, "origin": origin, "segments": [_segment_json(one) for one in segments]}
    put_json(staging / FOLDER / "segments.json", told)


def read_segments(before: Path | None, origin: str) -> list[Segment]:
    """None where there are none of this schema and manifest."""
    try:
        told = json.loads((before / FOLDER / "segments.json").read_bytes()) if before is not None else {}
    except FileNotFoundError:
        return []
    if before is None or (told.get("schema_version"), told.get("origin")) != (SCHEMA_VERSION, origin):
        return []
    segments = [_segment(one) for one in told["segments"]]
    there = all(_is_there(before, file) for one in segments for summary in one.summaries for file in summary.files)
    return segments if there else []


def _is_there(before: Path, file: FileSummary) -> bool:
    path = before / FOLDER / file.path if file.table in GATHERED else before / file.path
    return path.exists() and path.stat().st_size == file.bytes


def _segment_json(one: Segment) -> dict[str, Any]:
    return {
        "members": one.members,
        "beside": one.beside,
        "upto": one.upto,
        "bytes": one.bytes,
        "next_number": one.next_number,
        "summaries": [_summary_json(summary) for summary in one.summaries],
    }


def _segment(told: dict[str, Any]) -> Segment:
    return Segment(**(told | {"summaries": [_summary(one) for one in told["summaries"]]}))


def _summary_json(one: PartSummary) -> dict[str, Any]:
    return {
        "family": one.family,
        "number": one.number,
        "files": [file.to_json() for file in one.files],
        "counts": [[*key, *rest] for key, *rest in one.counts],
        "flows": in_rows(one.flows),
        "rejects": one.rejects,
        "times": in_rows(one.times),
        "last_us": one.last_us,
        "standing": [
            [channel, attempt, _standing_json(found)]
            for channel, attempts in one.standing.items()
            for attempt, found in attempts.items()
        ],
    }


def _summary(told: dict[str, Any]) -> PartSummary:
    standing: dict[str, dict[int, Standing]] = {}
    for channel, attempt, found in told["standing"]:
        standing.setdefault(channel, {})[attempt] = _standing(found)
    return PartSummary(
        told["family"],
        told["number"],
        [FileSummary(**file) for file in told["files"]],
        [(LogKey(*one[:4]), *one[4:]) for one in told["counts"]],
        in_columns(FLOWS.schema, told["flows"]),
        [Reject(*one) for one in told["rejects"]],
        in_columns(TIMES, told["times"]),
        told["last_us"],
        standing=standing,
    )


def _standing_json(one: Standing) -> list[Any]:
    upto = [[attempt, log.task, log.thread, epoch, size] for (attempt, log, epoch), size in one.upto.items()]
    return [one.missing_bytes, one.length.hex(), one.last_seq, upto]


def _standing(told: list[Any]) -> Standing:
    missing_bytes, length, last_seq, upto = told
    reached = {(one[0], LogId(TaskId(one[1]), Thread(one[2])), one[3]): one[4] for one in upto}
    return Standing(missing_bytes, bytes.fromhex(length), last_seq, reached)
