"""The ASGI entry: uploads ahead of Django, sockets through Channels, the rest Django; and the server's lifespan."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

# ruff: noqa: E402 - what is imported below needs Django to be set up
from django.core.asgi import get_asgi_application

_django: Any = get_asgi_application()

from django.conf import settings

from dashboard import embedded, progress
from dashboard.routing import websockets
from dashboard.uploads.endpoint import uploads_ahead_of
from ingest.lake import log_index

_http = uploads_ahead_of(_django)
log_index.make_ready()


async def application(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    elif scope["type"] == "websocket":
        await websockets(scope, receive, send)
    else:
        await _http(scope, receive, send)


async def _lifespan(receive: Any, send: Any) -> None:
    """Where no broker is shared, this process does the work too; it begins and ends with the server."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await (embedded.start() if settings.WORKER_IN_PROCESS else progress.use_running_loop())
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            if settings.WORKER_IN_PROCESS:
                await embedded.stop()
            await send({"type": "lifespan.shutdown.complete"})
            return
