"""Talking to Django on behalf of a request whose body it must not read, and answering in its place."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from dashboard.problems import Problem

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(slots=True)
class Answer:
    """A response of Django, held back until it is decided whether the client gets it."""

    status: int = 500
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""


async def ask(django: App, scope: Scope, body: bytes = b"", content_type: bytes = b"") -> Answer:
    """Lets Django answer the same request with this body in place of the one that it came with."""
    replaced = (b"content-length", b"content-type", b"transfer-encoding", b"expect")
    headers = [(name, value) for name, value in scope["headers"] if name.lower() not in replaced]
    headers.append((b"content-length", str(len(body)).encode()))
    if content_type:
        headers.append((b"content-type", content_type))
    answer, unread = Answer(), [body]

    async def receive() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        await asyncio.Event().wait()  # until Django has answered and cancels this
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status, answer.headers = message["status"], list(message.get("headers", []))
        elif message["type"] == "http.response.body":
            answer.body += message.get("body", b"")

    await django({**scope, "headers": headers}, receive, send)
    return answer


def answer_of(problem: Problem) -> Answer:
    body = json.dumps(problem.body(), ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    return Answer(problem.status, [*headers, (b"x-content-type-options", b"nosniff")], body)


async def give(send: Send, answer: Answer) -> None:
    await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
    await send({"type": "http.response.body", "body": answer.body})


def header(scope: Scope, name: bytes) -> str:
    """A request header; several of one name never agree to anything here, so the first counts."""
    found = next((value for key, value in scope["headers"] if key.lower() == name), b"")
    return found.decode("latin-1")
