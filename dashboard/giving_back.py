"""The bundle of a job as a download: packed while it is sent, so that nothing is written and it begins at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import Literal, get_args

from django.http import StreamingHttpResponse

from dashboard import bundles, payloads
from dashboard.api.streams import in_pieces
from dashboard.models import Job

Container = Literal["zip", "tar", "tar.gz", "tar.zst"]
CONTAINERS: tuple[Container, ...] = get_args(Container)
_CONTENT_TYPES = {"zip": "application/zip", "tar": "application/x-tar", "tar.gz": "application/gzip"}


def bundle_response(job: Job, container: Container) -> StreamingHttpResponse:
    """Raises `Problem` 403 where the job's payloads are hidden, `BundleGone` where its bundle is gone."""
    payloads.require(job.id)
    with bundles.bundle(job.id):  # it is at hand before anything is promised
        pass
    name = f"{job.id}.{container}"
    response = StreamingHttpResponse(_sent(job.id, container))
    response["Content-Type"] = _CONTENT_TYPES.get(container, "application/zstd")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


async def _sent(job_id: str, container: Container) -> AsyncIterator[bytes]:
    async for piece in in_pieces(_packed(job_id, container)):
        yield piece


def _packed(job_id: str, container: Container) -> Iterator[bytes]:
    # Imported here: a page that gives no bundle back need not load writers of four containers.
    from replay.bundle.archive_writers import archived
    from replay.bundle.giving_back import sources_of
    from replay.bundle.pack import Pack

    with bundles.bundle(job_id) as path, closing(Pack(path)) as pack:
        yield from archived(sources_of(pack), f".{container}")
