"""Lists of rows page by page, the newest first where nothing else is asked for: a page names the last row of the one
before, so that what is added meanwhile moves nothing."""

from __future__ import annotations

from typing import TypeVar

from django.db.models import Model, Q, QuerySet

Row = TypeVar("Row", bound=Model)


def page_behind(
    rows: QuerySet[Row], before: str, size: int, by: str = "created_at", *, falling: bool = True
) -> tuple[list[Row], str]:
    """So many rows behind the one that is named, or the first; and the name that the next page begins behind."""
    last = rows.filter(pk=before).values_list(by, "pk").first() if before.isprintable() else None
    if last is not None:
        beyond = Q((f"{by}__lt" if falling else f"{by}__gt", last[0]))
        rows = rows.filter(beyond | Q((by, last[0])) & Q(pk__gt=last[1]))
    page = list(rows.order_by(f"-{by}" if falling else by, "pk")[: size + 1])
    return page[:size], str(page[size - 1].pk) if len(page) > size else ""
