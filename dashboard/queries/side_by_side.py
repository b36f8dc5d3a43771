"""Two recordings side by side: their settings, sizes, verdicts and recoveries, what differs first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dashboard import audits
from dashboard.measures import byte_size, count, duration
from dashboard.models import Job
from dashboard.problems import Problem
from dashboard.queries.anatomy import anatomy
from dashboard.queries.curves_beside import curves_beside
from dashboard.queries.graph import job_graph
from dashboard.queries.lake import lake
from dashboard.recovery_words import PARTS
from dashboard.worked_out import AT_ONCE_BYTES
from ingest.lake.errors import NotPublished
from ingest.lake.readers import Lake
from replay.errors import printable

RECOVERIES_SHOWN = 4
_SIZES_SQL = "SELECT coalesce(sum(determinants), 0)::BIGINT, coalesce(sum(bytes), 0)::BIGINT FROM epochs"
NOT_TOLD = "not told"


class Beside(NamedTuple):
    """One thing of both."""

    name: str
    first: str
    second: str

    @property
    def differs(self) -> bool:
        return self.first != self.second


def side_by_side(first: Job, second: Job) -> dict[str, Any]:
    """Rows that differ, then those that don't; and of each recording its recoveries as bars of one scale."""
    rows = [
        *beside(_settings(first), _settings(second)),
        *beside(_sizes(lake(), job=first), _sizes(lake(), job=second)),
    ]
    sides = [_recoveries(job) for job in (first, second)]
    most_us = max((one["us"] for side in sides for one in side["recoveries"]), default=0)
    for side in sides:
        for one in side["recoveries"]:
            one["parts"] = list(_bars(one.pop("lane"), most_us))
    return {
        "differ": [row for row in rows if row.differs],
        "same": [row for row in rows if not row.differs],
        "sides": list(zip((first, second), sides, strict=True)),
        "namesakes": first.name == second.name,
        "curves": curves_beside(first, second),
    }


def beside(first: Mapping[str, str], second: Mapping[str, str]) -> list[Beside]:
    """In the order of the first; what only one of them names is not told of the other."""
    return [Beside(name, first.get(name, NOT_TOLD), second.get(name, NOT_TOLD)) for name in {**first, **second}]


def flattened(fields: Mapping[str, Any], under: str = "") -> Iterator[tuple[str, str]]:
    """Settings by name, those inside another one behind its name; as the manifest has them."""
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{under}{name}.")
        else:
            yield printable(f"{under}{name}"), printable(str(value))


def _settings(job: Job) -> dict[str, str]:
    found = job_graph(job.id)
    if found is None:
        return {}
    manifest = found.manifest
    told = {"job": printable(manifest.job.name), "seed": str(manifest.job.seed), "tasks": count(len(manifest.tasks))}
    return {**told, **dict(flattened(manifest.to_json()["protocol"]))}


def _sizes(tables: Lake, *, job: Job) -> dict[str, str]:
    audit = audits.of(job)
    told = {"bundle": byte_size(job.bytes), "verdict": (audit.verdict if audit is not None else "") or "not audited"}
    try:
        determinants, size = tables.rows(_SIZES_SQL, job=job.id)[0]
    except NotPublished:
        return told
    return {**told, "determinants": count(determinants), "logs": byte_size(size)}


def _recoveries(job: Job) -> dict[str, Any]:
    """Of failures alone, the first ones; a bundle that takes long to read is not read for this."""
    if job.bytes > AT_ONCE_BYTES:
        return {"recoveries": [], "more": 0, "why": "The bundle is large; its own page takes its recoveries apart."}
    try:
        told = anatomy(job)
    except Problem as problem:
        return {"recoveries": [], "more": 0, "why": problem.message}
    except NotPublished as missing:
        return {"recoveries": [], "more": 0, "why": str(missing)}
    lanes = [lane for group in told["groups"] for lane in group["lanes"] if lane["rollback"] is None]
    shown = [_shown(lane) for lane in lanes[:RECOVERIES_SHOWN]]
    why = "" if lanes else "Nothing failed, so there is no recovery."
    return {"recoveries": shown, "more": len(lanes) - len(shown) + told["failures_left_out"], "why": why}


def _shown(lane: dict[str, Any]) -> dict[str, Any]:
    us = sum(lane["parts"].values())
    whole = lane["done_us"] is not None
    said = f"{duration(us)} until all was done again" if whole else f"{duration(us)} are told; {lane['lacking']}"
    return {"failure": lane["failure"], "task": lane["task"], "us": us, "said": said, "lane": lane}


def _bars(lane: Mapping[str, Any], most_us: int) -> Iterator[dict[str, str]]:
    """Both recordings from the failure on, at one scale."""
    spans: Sequence[Mapping[str, Any]] = [one for one in lane["spans"] if one["part"] in lane["parts"]]
    for one in spans:
        part, us = PARTS[one["part"]], one["to_us"] - one["from_us"]
        x, width = 100 * (one["from_us"] - lane["begun_us"]) / most_us, 100 * us / most_us
        yield {"name": part.name, "colour": part.colour, "us": us, "x": f"{x:.3f}", "width": f"{width:.3f}"}
