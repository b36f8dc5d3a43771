"""Addresses of the WebSockets."""

from __future__ import annotations

from typing import Any

from channels.routing import URLRouter
from django.urls import path

from dashboard.consumers import WatchingJob, WatchingReplay

websocket_urlpatterns = [
    path("ws/jobs/<str:job_id>/", WatchingJob.as_asgi(), name="ws-job"),
    path("ws/replays/<str:replay_id>/", WatchingReplay.as_asgi(), name="ws-replay"),
]

_router = URLRouter(websocket_urlpatterns)


async def websockets(scope: Any, receive: Any, send: Any) -> None:
    """An unknown address is refused; it is no fault of the server that deserves a traceback."""
    try:
        await _router(scope, receive, send)
    except ValueError as error:
        if not str(error).startswith("No route found"):
            raise
        await send({"type": "websocket.close", "code": 4404})
