"""Request bodies on their way to a landing: in pieces, with a deadline for silence, never held whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from channels.db import database_sync_to_async

from dashboard.problems import Problem
from dashboard.uploads.ahead import Answer, Receive, Send
from dashboard.uploads.landing import COMMIT_EVERY_BYTES, Landing
from dashboard.uploads.multipart import MultipartReader, PartBegun, PartData, PartEnded

SILENCE_S = 30.0
PIECE_BYTES = 1 << 20
FIELD_BYTES = 64 * 1024
DRAINED_BYTES = 8 << 20
DRAIN_S = 3.0


class Disconnected(Exception):
    """The client went away in the middle of its request."""


async def body_of(receive: Receive) -> AsyncIterator[bytes]:
    """The body's chunks as they come."""
    while True:
        try:
            message = await asyncio.wait_for(receive(), SILENCE_S)
        except TimeoutError:
            raise Disconnected from None
        if message["type"] == "http.disconnect":
            raise Disconnected
        if message.get("body"):
            yield message["body"]
        if not message.get("more_body", False):
            return


async def refuse(receive: Receive, send: Send, answer: Answer, *, waits_for_us: bool) -> None:
    """Answers at once, then reads on for a moment: a client still sending would see a reset in place of the answer."""
    headers = [*answer.headers, (b"connection", b"close")]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    # Reading from a client that waits for `100 Continue` would tell it to go on.
    await send({"type": "http.response.body", "body": answer.body, "more_body": not waits_for_us})
    if waits_for_us:
        return
    left = DRAINED_BYTES
    with suppress(TimeoutError, Disconnected):
        async with asyncio.timeout(DRAIN_S):
            async for chunk in body_of(receive):
                left -= len(chunk)
                if left < 0:
                    break
    await send({"type": "http.response.body", "body": b""})


class Pieces:
    """Gathers small chunks, so that each step into a thread is worth it, and writes down now and then what has come."""

    def __init__(self, landing: Landing) -> None:
        self._landing = landing
        self._held = bytearray()

    async def add(self, data: bytes) -> None:
        self._held += data
        if len(self._held) >= PIECE_BYTES:
            await self._flush()
            if self._landing.uncommitted_bytes >= COMMIT_EVERY_BYTES:
                await database_sync_to_async(self._landing.commit)()

    async def end(self) -> None:
        await self._flush()
        await database_sync_to_async(self._landing.commit)()

    async def _flush(self) -> None:
        if self._held:
            data = bytes(self._held)
            self._held.clear()
            await asyncio.to_thread(self._landing.write, data)


class Form:
    """A multipart body being read: the fields that stand before the file, then the file itself."""

    def __init__(self, receive: Receive, boundary: bytes, file_field: str) -> None:
        self.fields: dict[str, str] = {}
        self.filename = ""
        self._file_field = file_field
        self._at_file = False
        self._reader = MultipartReader(boundary)
        self._events = self._read(receive)

    async def until_file(self) -> None:
        """Reads the fields before the file, once; what is left is the file."""
        if self._at_file:
            return
        name, value = "", bytearray()
        async for event in self._events:
            match event:
                case PartBegun(name=name, filename=filename):
                    value = bytearray()
                    if name == self._file_field:
                        self.filename, self._at_file = filename or "", True
                        return
                case PartData(data=data):
                    value += data
                    if len(value) > FIELD_BYTES:
                        raise Problem(413, f"The field “{name[:100]}” before the file is too long.")
                case PartEnded():
                    self.fields[name] = value.decode("utf-8", "replace")
        raise Problem(422, f"The form has no file in a field named {self._file_field}.")

    async def file(self) -> AsyncIterator[bytes]:
        """The file's bytes; then the rest of the form, unread by anybody, must be well-formed too."""
        async for event in self._events:
            if isinstance(event, PartData):
                yield event.data
            else:
                break
        async for event in self._events:
            if isinstance(event, PartBegun) and event.name == self._file_field:
                raise Problem(422, f"The form has more than one file in {self._file_field}; send them one by one.")
        self._reader.close()

    async def _read(self, receive: Receive) -> AsyncIterator[PartBegun | PartData | PartEnded]:
        async for chunk in body_of(receive):
            for event in self._reader.feed(chunk):
                yield event
