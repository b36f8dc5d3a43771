"""The one lake of this process, for every query of a page."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings

from ingest.lake.readers import Lake, open_lake


@lru_cache(maxsize=1)
def lake() -> Lake:
    return open_lake(settings.LAKE_ROOT)
