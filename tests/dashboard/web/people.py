"""People with different rights to one job, and requests in the name of each, through the whole ASGI application."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import httpx
from django.conf import settings
from django.contrib.auth.models import User
from django.middleware.csrf import _get_new_csrf_string
from django.test import Client

from dashboard.models import Breakpoint, Job, JobAudit, JobShare, Note, Replay, Upload, Work
from dashboard.models.audits import audit_id
from dashboard.people import tokens
from dashboard.uploads.landing import Landing

HOST = "testserver.invalid"


@dataclass(frozen=True)
class Visitor:
    """Somebody, with what their browser or script sends along."""

    name: str
    headers: dict[str, str]


def browser(user: User, *, csrf: bool = True) -> dict[str, str]:
    client = Client()
    client.force_login(user)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    return cookies(session, csrf=csrf)


def cookies(session: str | None, *, csrf: bool = True) -> dict[str, str]:
    secret = _get_new_csrf_string()
    jar = f"{settings.CSRF_COOKIE_NAME}={secret}"
    if session:
        jar += f"; {settings.SESSION_COOKIE_NAME}={session}"
    return {"Cookie": jar, **({"X-CSRFToken": secret} if csrf else {})}


def script(user: User, *, revoked: bool = False) -> dict[str, str]:
    token, secret = tokens.issue(user, "script")
    if revoked:
        tokens.revoke(token)
    return {"Authorization": f"Bearer {secret}"}


class World:
    """An owner, one with whom jobs are shared, another, and an administrator to whom nothing is shared."""

    def __init__(self) -> None:
        self.owner = User.objects.create_user("owner")
        self.shared = User.objects.create_user("shared")
        self.other = User.objects.create_user("other")
        self.staff = User.objects.create_superuser("staff")
        self.visitors = {
            visitor.name: visitor
            for visitor in (
                Visitor("owner", browser(self.owner)),
                Visitor("shared", browser(self.shared)),
                Visitor("other", browser(self.other)),
                Visitor("staff", browser(self.staff)),
                Visitor("anonymous", cookies(None)),
                Visitor("forged", browser(self.owner, csrf=False)),
                Visitor("token", script(self.owner)),
                Visitor("shared-token", script(self.shared)),
                Visitor("other-token", script(self.other)),
                Visitor("revoked", script(self.owner, revoked=True)),
            )
        }

    def things(self) -> dict[str, Any]:
        """Fresh ones for every request: a request may end them."""
        job = Job.objects.create(owner=self.owner, name="a job", content_id="c" * 64, bytes=1)
        Work.objects.create(kind=Work.Kind.INGEST, target=job.id)
        JobShare.objects.create(job=job, user=self.shared, granted_by=self.owner, payloads=True)
        replay = Replay.objects.create(job=job, owner=self.owner, task="map-1.0", failure=0)
        Work.objects.create(kind=Work.Kind.REPLAY, target=replay.id)
        audit = JobAudit.objects.create(id=audit_id(job.id), job=job, asked_by=self.owner)
        Work.objects.create(kind=Work.Kind.AUDIT, target=audit.id)
        upload = Upload.objects.create(owner=self.owner, name="a bundle", size=10)
        Landing(upload).close()
        token, _ = tokens.issue(self.owner, "to be revoked")
        return {
            "job_id": job.id,
            "replay_id": replay.id,
            "upload_id": upload.id,
            "breakpoint_id": Breakpoint.objects.create(replay=replay, search="sent").pk,
            "note_id": Note.objects.create(replay=replay, author=self.owner, first=3, last=5, text="here").pk,
            "token_id": token.id,
            "user_id": self.shared.pk,
            "table": "events",
            "kind": "csv",
            "task": "map-1.0",
            "name": "steps",
            "username": "shared",
        }


def ask(method: str, path: str, headers: dict[str, str], **sent: Any) -> httpx.Response:
    """One request to the application, with everything that stands ahead of Django."""
    from dashboard.asgi import application

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=application)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
            return await client.request(method, path, headers=headers, **sent)

    return asyncio.run(send())
