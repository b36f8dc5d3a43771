"""The endpoint ahead of Django: takes uploads' bytes straight to the store, and bounds every other request's body.

Django would read a body whole before any view could refuse it. Here Django is asked first, without the body.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

from asgiref.sync import ThreadSensitiveContext
from channels.db import database_sync_to_async
from django.conf import settings

from dashboard.api.failures import problem_of
from dashboard.problems import Problem
from dashboard.uploads.ahead import Answer, App, Message, Receive, Scope, Send, answer_of, ask, give, header
from dashboard.uploads.landing import Landing
from dashboard.uploads.multipart import MultipartError, boundary_of
from dashboard.uploads.passage import SCOPE_KEY, Passage, Stage
from dashboard.uploads.streaming import Disconnected, Form, Pieces, body_of, refuse

log = logging.getLogger("clonoscope.uploads")

JOBS_PATH = "/api/v1/jobs"
UPLOAD_PATH = re.compile(r"/api/v1/uploads/[^/]+")
# A form that goes to a job's replays brings steps; what is no form starts a replay.
STEPS_PATH = re.compile(r"(/api/v1/jobs/[^/]+/replays)(/steps)?")
FILE_FIELD, STEPS_FIELD = "bundle", "steps"
FORM = b"application/x-www-form-urlencoded"


def uploads_ahead_of(django: App) -> App:
    """The ASGI application for HTTP: uploads here, all else to Django."""
    return UploadsAhead(django)


class UploadsAhead:
    def __init__(self, django: App) -> None:
        self._django = django

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method, path = scope["method"], scope["path"]
        boundary = boundary_of(header(scope, b"content-type"))
        if method == "POST" and path == JOBS_PATH and boundary:
            await _Upload(self._django, scope, receive, send).form(boundary, FILE_FIELD)
        elif method == "POST" and boundary and (steps := STEPS_PATH.fullmatch(path)):
            path = f"{steps[1]}/steps"
            there = {**scope, "path": path, "raw_path": path.encode()}
            await _Upload(self._django, there, receive, send).form(boundary, STEPS_FIELD)
        elif method == "PATCH" and UPLOAD_PATH.fullmatch(path):
            await _Upload(self._django, scope, receive, send).piece()
        else:
            await self._bounded(scope, receive, send)

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Django keeps a body before it looks who sent it: so none is let through that is larger than any should be."""
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        announced = header(scope, b"content-length")
        held: list[Message] = []
        if header(scope, b"transfer-encoding"):
            too_large = await _hold(receive, held, most)
        else:
            too_large = bool(announced) and (not announced.isdecimal() or int(announced) > most)
        if too_large:
            problem = Problem(413, f"The body of such a request may have {most} bytes. Bundles go to {JOBS_PATH}.")
            await refuse(receive, send, answer_of(problem), waits_for_us=bool(header(scope, b"expect")))
            return

        async def replayed() -> Message:
            return held.pop(0) if held else await receive()

        await self._django(scope, replayed, send)


class _Upload:
    """One request that carries an upload."""

    def __init__(self, django: App, scope: Scope, receive: Receive, send: Send) -> None:
        announced = header(scope, b"content-length")
        self._passage = Passage(
            announced_bytes=int(announced) if announced.isdecimal() else None,
            content_type=header(scope, b"content-type").partition(";")[0].strip().lower(),
        )
        self._scope = {**scope, SCOPE_KEY: self._passage}
        self._django, self._receive, self._send = django, receive, send

    async def form(self, boundary: bytes, file_field: str) -> None:
        """A whole file in one form: a job comes of it, or a replay, or nothing stays."""
        async with ThreadSensitiveContext():
            await self._answered(self._take_form(Form(self._receive, boundary, file_field)), self._remove)

    async def piece(self) -> None:
        """A piece of a resumable upload: what came before a fault or a lost connection is kept."""
        async with ThreadSensitiveContext():
            await self._answered(self._take_piece(), self._close)

    async def _answered(self, taking: Awaitable[Answer], ending: Callable[[Landing], Awaitable[None]]) -> None:
        answer = None
        try:
            answer = await taking
        except Disconnected:
            log.info("an upload broke off: the client went away")
        except Exception as error:
            answer = answer_of(_problem_of(error))
        finally:
            # Before the answer: whoever has it finds things as it says.
            if self._passage.landing is not None:
                await ending(self._passage.landing)
        if answer is None:
            return
        if self._passage.stage is Stage.LANDED:
            await give(self._send, answer)
        else:
            waits = bool(header(self._scope, b"expect")) and self._passage.landing is None
            await refuse(self._receive, self._send, answer, waits_for_us=waits)

    async def _remove(self, landing: Landing) -> None:
        await database_sync_to_async(landing.remove)()

    async def _close(self, landing: Landing) -> None:
        landing.close()

    async def _take_form(self, form: Form) -> Answer:
        if self._is_plain_form():
            await form.until_file()
        answer = await self._ask(form)
        if self._passage.landing is None:
            return answer
        _warm_up()
        await form.until_file()
        pieces = Pieces(self._passage.landing)
        async for data in form.file():
            await pieces.add(data)
        await pieces.end()
        self._passage.stage = Stage.LANDED
        self._passage.name = form.fields.get("name") or form.filename
        return _for_browser(await self._ask(form), plain=self._is_plain_form())

    async def _take_piece(self) -> Answer:
        answer = await ask(self._django, self._scope)
        if self._passage.landing is None:
            return answer
        _warm_up()
        pieces = Pieces(self._passage.landing)
        try:
            async for chunk in body_of(self._receive):
                await pieces.add(chunk)
        finally:
            await pieces.end()
        self._passage.stage = Stage.LANDED
        return await ask(self._django, self._scope)

    async def _ask(self, form: Form) -> Answer:
        # The CSRF token of a page without scripts is a field; Django finds it where it looks for it.
        return await ask(self._django, self._scope, urlencode(form.fields).encode(), FORM)

    def _is_plain_form(self) -> bool:
        """A form sent by a page without scripts: its CSRF token is a field that stands before the file."""
        scope = self._scope
        return bool(header(scope, b"cookie")) and not (header(scope, b"authorization") or header(scope, b"x-csrftoken"))


def _warm_up() -> None:
    if settings.WORKER_IN_PROCESS:
        from dashboard import embedded

        embedded.bundle_is_coming()


def _problem_of(error: Exception) -> Problem:
    if isinstance(error, MultipartError):
        return Problem(422, str(error), code="bad-form", detail={"offset": error.offset})
    problem = problem_of(error)
    if problem.status >= 500:
        log.error("upload: %s", problem.message, exc_info=error)
    return problem


async def _hold(receive: Receive, held: list[Message], most: int) -> bool:
    """Reads a body of unknown length into `held`; True if it is longer than it may be."""
    size = 0
    while True:
        message = await receive()
        held.append(message)
        size += len(message.get("body", b""))
        if size > most:
            return True
        if message["type"] != "http.request" or not message.get("more_body", False):
            return False


def _for_browser(answer: Answer, *, plain: bool) -> Answer:
    """A page without scripts goes on to the job; scripts get the answer as it is."""
    location = next((value for name, value in answer.headers if name.lower() == b"location"), b"")
    if not plain or answer.status != 202 or not location:
        return answer
    kept = [(name, value) for name, value in answer.headers if name.lower() not in (b"content-type", b"content-length")]
    return Answer(303, [*kept, (b"content-length", b"0")])
