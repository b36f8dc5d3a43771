"""Lists of rows, the newest first, page by page: a page names the last row of the one before, so that what is added
meanwhile moves nothing."""

from __future__ import annotations

from typing import TypeVar

from django.db.models import Model, Q, QuerySet

Row = TypeVar("Row", bound=Model)


def page_behind(rows: QuerySet[Row], before: str, size: int) -> tuple[list[Row], str]:
    """So many rows behind the one that is named, or the first; and the name that the next page begins behind."""
    last = rows.filter(pk=before).values_list("created_at", "pk").first() if before.isprintable() else None
    if last is not None:
        rows = rows.filter(Q(created_at__lt=last[0]) | Q(created_at=last[0], pk__gt=last[1]))
    page = list(rows.order_by("-created_at", "pk")[: size + 1])
    return page[:size], str(page[size - 1].pk) if len(page) > size else ""
