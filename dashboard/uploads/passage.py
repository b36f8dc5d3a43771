"""What the endpoint ahead of Django and the API operation behind it say to one another, in the request's scope.

The operation is called twice: before the first byte, without a body, to let the upload in (login or token, origin and
CSRF, size, quota: the same code as for every other request); and after the last one, to make something of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from django.http import HttpRequest

from dashboard.problems import Problem
from dashboard.uploads.landing import Landing

SCOPE_KEY = "clonoscope.passage"


class Stage(Enum):
    ASKING = "asking"
    LANDED = "landed"


@dataclass(slots=True)
class Passage:
    stage: Stage = Stage.ASKING
    announced_bytes: int | None = None
    content_type: str = ""
    landing: Landing | None = None
    name: str = ""

    def landed(self) -> Landing:
        if self.landing is None:
            raise Problem(500)
        return self.landing


def passage_of(request: HttpRequest) -> Passage:
    scope: dict[str, Any] = getattr(request, "scope", {})
    passage = scope.get(SCOPE_KEY)
    if not isinstance(passage, Passage):
        raise Problem(
            415,
            "Send the file as multipart/form-data: a bundle in a field named bundle, or through /api/v1/uploads; steps "
            "in a field named steps.",
        )
    return passage
