"""The one lake of this process, for every query of a page: of jobs whose payloads are hidden the tables are sealed."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings

from dashboard import payloads
from ingest.lake.places import Place
from ingest.lake.readers import Lake, PublishedJob, open_lake


class GuardedLake(Lake):
    """Opens a job's tables as this request may read them."""

    def __init__(self, root: Place) -> None:
        self._plain, self._sealed = open_lake(root), open_lake(root, sealed=True)
        super().__init__(root)

    def job(self, job: str) -> PublishedJob:
        return (self._plain if payloads.opened(job) else self._sealed).job(job)

    def close(self) -> None:
        for one in (self._plain, self._sealed):
            one.close()


def lake() -> Lake:
    return _lake_at(settings.LAKE_ROOT)


@lru_cache(maxsize=1)
def _lake_at(root: Place) -> Lake:
    return GuardedLake(root)
