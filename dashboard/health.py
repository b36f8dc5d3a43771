"""`/healthz`: whether this process can do its work. Says so to anybody, and nothing more than that."""

from __future__ import annotations

import os

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard import bundles


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    checks = {"database": _database(), "store": _writable()}
    well = all(checks.values())
    shown = {name: "ok" if good else "failing" for name, good in checks.items()}
    return JsonResponse({"status": "ok" if well else "failing", **shown}, status=200 if well else 503)


def _database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return cursor.fetchone() == (1,)
    except DatabaseError:
        return False


def _writable() -> bool:
    return os.access(settings.STORE, os.W_OK) and bundles.reachable()
