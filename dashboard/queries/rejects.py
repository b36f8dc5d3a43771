"""What ingest could not read of a bundle: file, offset and rule."""

from __future__ import annotations

from dataclasses import dataclass

from ingest.lake.readers import Lake

REJECTS_SHOWN = 100
_SQL = 'SELECT path, "offset", why FROM rejects ORDER BY path, "offset" NULLS FIRST, why LIMIT $limit'


@dataclass(frozen=True, slots=True)
class Reject:
    path: str
    offset: int | None
    why: str


def rejects(lake: Lake, *, job: str, limit: int = REJECTS_SHOWN) -> list[Reject]:
    return [Reject(*row) for row in lake.rows(_SQL, {"limit": limit}, job=job)]
