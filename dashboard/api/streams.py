"""Answers that are told while they are made: line by line, one JSON object a line, or in pieces of bytes; and files,
which are sent the same way: Django would read all of one before its first byte goes out."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any, BinaryIO

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse

from dashboard.api.failures import problem_of

Lines = Generator[dict[str, Any], None, None]
PIECE_BYTES = 1 << 18


def streamed(lines: Lines) -> StreamingHttpResponse:
    """Begins to answer with the first line; a fault on the way is the last one, in the API's shape of errors."""
    return StreamingHttpResponse(_written(lines), content_type="application/x-ndjson")


async def _written(lines: Lines) -> AsyncIterator[bytes]:
    # Each piece in a thread of the pool: a long search must not hold up what others ask for.
    advance = sync_to_async(_next, thread_sensitive=False)
    try:
        while (line := await advance(lines)) is not None:
            yield json.dumps(line, separators=(",", ":")).encode() + b"\n"
    finally:
        await sync_to_async(lines.close, thread_sensitive=False)()


def sent(file: BinaryIO) -> StreamingHttpResponse:
    """All of an open file, and no more of it in memory than a piece. It is closed then, or when nobody reads on."""
    response = StreamingHttpResponse(in_pieces(_pieces(file)))
    response["Content-Length"] = str(os.fstat(file.fileno()).st_size)
    return response


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE_BYTES):
            yield piece


async def in_pieces(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Each made in a thread of the pool when the one before was sent; what is empty is left out."""
    advance = sync_to_async(_next_piece, thread_sensitive=False)
    try:
        while (piece := await advance(pieces)) is not None:
            if piece:
                yield piece
    finally:
        if isinstance(pieces, Generator):
            await sync_to_async(pieces.close, thread_sensitive=False)()


def _next_piece(pieces: Iterator[bytes]) -> bytes | None:
    return next(pieces, None)


def _next(lines: Lines) -> dict[str, Any] | None:
    try:
        return next(lines, None)
    except Exception as error:  # the status is sent already: what is wrong can only be told in a line
        problem = problem_of(error)
        if problem.status >= 500:
            raise
        return problem.body()
