"""A report of an audit as a file that is given away."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from dashboard.evidence import address_of
from dashboard.models import Job
from replay.guarantees.reporting.documents import FORMS, document


def document_response(request: HttpRequest, job: Job, report: dict[str, Any], form: str) -> HttpResponse:
    """Its evidence are links to this server. It is saved and not shown: what a recording says never runs as a page."""

    def link(name: str) -> str | None:
        path = address_of(job.id, name)
        return None if path is None else request.build_absolute_uri(path)

    response = HttpResponse(document(report, form, link), content_type=FORMS[form].content_type)
    response["Content-Disposition"] = f'attachment; filename="audit-{job.id}{FORMS[form].suffix}"'
    return response
