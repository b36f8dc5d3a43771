"""The next version of a growing job's tables: what was settled before is shared with the version that is published, and
only what is new since is decoded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ingest.jobs.parts import PartSummary
from ingest.jobs.segments import (
    Segment,
    done_by,
    keep,
    kept_beside,
    read_segments,
    share,
    still_true,
    write_segments,
)
from ingest.transforms.planning import Part, Plan, sorted_members
from ingest.transforms.settled import Units, members_of, names_of, settled_upto
from replay.bundle.pack import Pack
from replay.model import Graph, Manifest

SEGMENT_BYTES = 1 << 20
"""What is settled and less than that is decoded again with what is not: it takes a moment, and saves a file."""

Decode = Callable[[Plan, int, bool], list[PartSummary]]
"""Decodes a plan into parts numbered from there on; whether its channels go on behind it."""


def decode_growing(
    pack: Pack,
    manifest: Manifest,
    before: Path | None,
    staging: Path,
    decode: Decode,
    *,
    segment_bytes: int = SEGMENT_BYTES,
) -> tuple[Plan, list[PartSummary]]:
    """The plan of the whole recording, and the summaries of all its parts, whose files stand in the staging folder."""
    sizes = {name: size for name, _, size in pack.extents()}
    units = Units(sorted_members(pack, Graph(manifest)))
    origin = _origin(manifest)
    kept = still_true(read_segments(before, origin), sizes, units.channels)
    if (fresh_bytes := units.settled(done_by(kept)).bytes) >= segment_bytes:
        kept = kept_beside(kept, fresh_bytes)
    for one in kept:
        share((file for summary in one.summaries for file in summary.files), before or staging, staging)
    segments = list(kept)
    if fresh_bytes >= segment_bytes:
        segments.append(_decoded(units, kept, sizes, staging, decode))
    tail = decode(units.rest(done_by(segments)), segments[-1].next_number if segments else 0, False)
    write_segments(staging, origin, segments)
    return units.whole, [*(summary for one in segments for summary in one.summaries), *tail]


def _decoded(units: Units, kept: list[Segment], sizes: dict[str, int], staging: Path, decode: Decode) -> Segment:
    done = done_by(kept)
    plan = units.settled(done)
    summaries = decode(plan, kept[-1].next_number if kept else 0, True)
    keep((file for summary in summaries for file in summary.files), staging)
    members, channels = names_of(plan, units.sorting.tasks)
    read = {unit.channel for unit in channels}
    return Segment(
        {name: sizes[name] for name in members},
        {name: sizes[name] for unit in channels for _, name in members_of(unit)},
        {unit.channel: settled_upto(unit) for unit in units.channels if unit.channel in read},
        plan.bytes,
        max(one.number for one in summaries) + 1,
        summaries,
    )


def numbered(parts: list[Part], first: int) -> list[Part]:
    """The same, whose files have names that none of those before has."""
    return [replace(part, number=first + part.number) for part in parts]


def _origin(manifest: Manifest) -> str:
    """What must be the same for what was decoded to hold: all of the manifest but whether it is complete, and when."""
    same = replace(manifest, complete=False, job=replace(manifest.job, recorded_at=""))
    return hashlib.sha256(same.to_bytes()).hexdigest()
