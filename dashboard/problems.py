"""The one shape of an error: `{"error": {"code", "message", "detail"}}`, and the exception that carries it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

CODES = {
    400: "bad-request",
    401: "unauthorized",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    409: "conflict",
    410: "gone",
    411: "length-required",
    412: "precondition-failed",
    413: "too-large",
    415: "unsupported-media-type",
    422: "invalid",
    423: "locked",
    429: "throttled",
    431: "headers-too-large",
    500: "internal",
    501: "not-implemented",
    503: "unavailable",
    507: "store-full",
}

MESSAGES = {
    401: "Log in, or send an API token as `Authorization: Bearer …`.",
    403: "This is not allowed to you.",
    404: "There is nothing here, or nothing that you may see.",
    405: "This address does not take that method.",
    500: "Something broke on the server; its log says what.",
}


def as_sentence(words: str) -> str:
    """With a capital, unless it begins with a name, as `join.0` is one."""
    first = words.partition(" ")[0].rstrip(",:;")
    return words[:1].upper() + words[1:] if first.isalpha() or not first.islower() else words


class Problem(Exception):
    """A request that cannot be met, with the status and the sentence that say so."""

    def __init__(self, status: int, message: str = "", *, code: str = "", detail: Any = None) -> None:
        self.status = status
        self.message = message or default_message(status)
        self.code = code or CODES.get(status, "error")
        self.detail = detail
        super().__init__(self.message)

    def body(self) -> dict[str, Any]:
        return {"error": {"code": self.code, "message": self.message, "detail": self.detail}}


def default_message(status: int) -> str:
    return MESSAGES.get(status) or HTTPStatus(status).phrase + "."


def not_found() -> Problem:
    """Also for what exists but belongs to someone else: the two must not be told apart."""
    return Problem(404)
