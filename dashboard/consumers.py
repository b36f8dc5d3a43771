"""WebSockets of jobs and replays: the whole state from the database on connect, then what changes.

A socket asks the same rule as pages and API, on connect, before every message, whenever access changes, and from time
to time: who is logged out, unshared or holds a revoked token is cut off.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer

from dashboard.models import Job, Replay
from dashboard.models.audits import audit_id
from dashboard.payloads import sealed_state
from dashboard.people.identity import Credential, credential_of
from dashboard.people.origins import may_connect
from dashboard.progress import group_of, state_of
from dashboard.watching import ACCESS_GROUP, ACCESS_TYPE

log = logging.getLogger("clonoscope.sockets")

NOT_FOUND = 4404
REFUSED = 4403
ASK_AGAIN_S = 20.0


class Watching(AsyncJsonWebsocketConsumer):
    """One person watching one job or replay. Nothing that they send is looked at."""

    model: type[Job] | type[Replay]
    parameter: str

    async def connect(self) -> None:
        self.target = str(self.scope["url_route"]["kwargs"][self.parameter])
        self.asking: asyncio.Task[None] | None = None
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self.scope["headers"]}
        self.credential: Credential = credential_of(headers)
        if not may_connect(headers, self.credential):
            await self.close(REFUSED)
            return
        state = await database_sync_to_async(self._state)()
        if state is None:
            await self.close(NOT_FOUND)
            return
        # Joined before the state is read again: a change in between is told twice rather than never.
        await self.channel_layer.group_add(group_of(self.target), self.channel_name)
        await self.channel_layer.group_add(ACCESS_GROUP, self.channel_name)
        await self.accept()
        await self._tell_state()
        self.asking = asyncio.create_task(self._ask_again())

    async def disconnect(self, code: int) -> None:
        if self.asking is not None:
            self.asking.cancel()
        await self.channel_layer.group_discard(group_of(self.target), self.channel_name)
        await self.channel_layer.group_discard(ACCESS_GROUP, self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any) -> None:
        pass

    async def progress(self, message: dict[str, Any]) -> None:
        """Pushed by whoever works on it."""
        sees, payloads_too = await database_sync_to_async(self._rights)()
        if sees:
            await self.send_json(message["state"] if payloads_too else sealed_state(message["state"]))
        else:
            await self.close(NOT_FOUND)

    async def news(self, message: dict[str, Any]) -> None:
        """Only what was changed: each asks for it as the person that they are."""
        if await database_sync_to_async(self._sees)():
            await self.send_json({"news": message["news"]})
        else:
            await self.close(NOT_FOUND)

    async def access_changed(self, message: dict[str, Any]) -> None:
        if not await database_sync_to_async(self._sees)():
            await self.close(NOT_FOUND)

    async def _tell_state(self) -> None:
        state = await database_sync_to_async(self._state)()
        if state is None:
            await self.close(NOT_FOUND)
        else:
            await self.send_json(state)
            await self._tell_more()

    async def _tell_more(self) -> None:
        """What else is being done about it."""

    async def _ask_again(self) -> None:
        """For what no message tells: sessions that run out, changes made by commands in other processes."""
        while True:
            await asyncio.sleep(ASK_AGAIN_S)
            if not await database_sync_to_async(self._sees)():
                await self.close(NOT_FOUND)
                return

    def _sees(self) -> bool:
        user = self.credential.user()
        return user is not None and self.model.objects.visible_to(user).filter(id=self.target).exists()

    def _rights(self) -> tuple[bool, bool]:
        """Whether they see it, and whether they see what it says too."""
        user = self.credential.user()
        if user is None or not self.model.objects.visible_to(user).filter(id=self.target).exists():
            return False, False
        jobs = Job.objects.payloads_visible_to(user)
        return True, (jobs.filter(id=self.target) | jobs.filter(replays__id=self.target)).exists()

    def _state(self, target: str = "") -> dict[str, Any] | None:
        sees, payloads_too = self._rights()
        state = state_of(target or self.target) if sees else None
        return state if state is None or payloads_too else sealed_state(state)


class WatchingJob(Watching):
    model = Job
    parameter = "job_id"

    async def _tell_more(self) -> None:
        ask = database_sync_to_async(self._state)
        state, audit = await ask(self.target), await ask(audit_id(self.target))
        if state is not None and audit is not None:
            await self.send_json({**state, "audit": audit})


class WatchingReplay(Watching):
    model = Replay
    parameter = "replay_id"


if ACCESS_TYPE.replace(".", "_") != Watching.access_changed.__name__:
    raise RuntimeError("the access message would reach no socket")
