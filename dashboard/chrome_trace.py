"""A recording as a Chrome trace, which Perfetto opens: written while it is sent, so that its size is no matter."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

from django.http import StreamingHttpResponse

from dashboard.api.streams import in_pieces
from dashboard.models import Job
from dashboard.queries.failures import job_failures
from dashboard.queries.lake import lake
from dashboard.queries.trace_events import TraceEvent, trace_events
from replay.model import Manifest

EVENTS_A_PIECE = 1000


def trace_response(job: Job, manifest: Manifest) -> StreamingHttpResponse:
    events = trace_events(lake(), job=job.id, manifest=manifest, failures=job_failures(lake(), job=job.id))
    response = StreamingHttpResponse(_sent(job, manifest, events), content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{job.id}.trace.json"'
    return response


async def _sent(job: Job, manifest: Manifest, events: Iterator[TraceEvent]) -> AsyncIterator[bytes]:
    async for piece in in_pieces(_written(job, manifest, events)):
        yield piece


def _written(job: Job, manifest: Manifest, events: Iterator[TraceEvent]) -> Iterator[bytes]:
    about = {"job": job.id, "name": job.name, "origin_ms": manifest.clock.origin_ms, "clock": manifest.clock.kind}
    yield f'{{"displayTimeUnit":"ms","otherData":{_json(about)},"traceEvents":['.encode()
    piece: list[str] = []
    between = ""
    for event in events:
        piece.append(_json(event))
        if len(piece) == EVENTS_A_PIECE:
            yield (between + ",".join(piece)).encode()
            between, piece = ",", []
    yield (between + ",".join(piece) if piece else "").encode() + b"]}\n"


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
