"""Consistent cuts of a window: where every task could have stood at once, and what was on its way across."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from django.conf import settings

from dashboard.models import Job
from dashboard.worked_out import Question
from ingest.lake.publish import published_folder

CUTS = 121
KEPT = 16
_CUTS = Question(
    module="replay.guarantees.cuts",
    version=1,
    folder="cuts",
    what="row of cuts",
    remedy="All buffers of the recording are read for it.",
    code="no-cuts",
    refused_with=422,
)
_kept: OrderedDict[tuple[str, int, int], dict[str, Any]] = OrderedDict()
_guard = threading.Lock()


def cuts_of(job: Job, *, from_us: int, to_us: int) -> dict[str, Any]:
    """Evenly over the window; what is published never changes, so the last answers are kept."""
    key = (published_folder(settings.LAKE_ROOT, job.id).name, from_us, to_us)
    with _guard:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    found: dict[str, Any] = _CUTS.asked_anew_of(job, f"--from={from_us}", f"--to={to_us}", f"--cuts={CUTS}")
    with _guard:
        _kept[key] = found
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return found
