"""A real server process on a data folder of its own, people in it, and sockets spoken to byte by byte."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from bench.server_process import ROOT, ServerProcess

ARRANGE = """
import json, sys
import django
django.setup()
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from dashboard.models import Quota
from dashboard.people import tokens
made = {}
for name, quota in json.loads(sys.argv[1]).items():
    user, _ = User.objects.get_or_create(username=name)
    if quota is not None:
        Quota.objects.update_or_create(user=user, defaults={"max_bytes": quota})
    token, secret = tokens.issue(user, "test")
    client = Client()
    client.force_login(user)
    made[name] = {"token": secret, "session": client.cookies[settings.SESSION_COOKIE_NAME].value, "id": user.pk}
print(json.dumps(made))
"""


@dataclass(frozen=True)
class Person:
    name: str
    id: int
    token: str
    session: str

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


class RealServer:
    """One data folder; the process that serves it may end and begin again."""

    def __init__(self, data: Path, *, environment: dict[str, str] | None = None, most_file_bytes: int = 0) -> None:
        self.data = data
        own = {"CLONOSCOPE_DATA": str(data), "CLONOSCOPE_AUDIT_UNASKED_BYTES": "0"}
        self.environment = {**os.environ, **own, **(environment or {})}
        self.most_file_bytes = most_file_bytes
        self.url = ""
        self._served: list[ServerProcess] = []

    def start(self) -> None:
        """Returns when it serves."""
        process = ServerProcess(
            self.data,
            "--no-demo",
            environment=self.environment,
            most_file_bytes=self.most_file_bytes,
            makes_a_link=False,
        )
        self._served.append(process)
        self.url = process.start().address
        self.address = (urlsplit(self.url).hostname, urlsplit(self.url).port)

    def stop(self, sig: int = signal.SIGTERM) -> None:
        self._served[-1].end(sig)

    def people(self, **quotas: int | None) -> dict[str, Person]:
        """Accounts by name, with a token and a session each."""
        made = self.run(ARRANGE, json.dumps(quotas))
        return {name: Person(name=name, **fields) for name, fields in json.loads(made).items()}

    def run(self, script: str, *arguments: str) -> str:
        """A script in a process of its own, on this server's data folder."""
        environment = {**self.environment, "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
        command = [sys.executable, "-c", script, *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def client(self, person: Person | None = None) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers=person.bearer if person else {}, timeout=60)

    @contextmanager
    def raw(self, head: str) -> Iterator[socket.socket]:
        """A connection on which this request head has been sent."""
        with socket.create_connection(self.address, timeout=30) as connection:
            host = f"Host: {self.address[0]}:{self.address[1]}"
            lines = head.strip().splitlines()
            connection.sendall("\r\n".join([lines[0], host, *lines[1:], "", ""]).encode())
            yield connection

    def files(self, folder: str) -> list[str]:
        found = self.data / "store" / folder
        return sorted(path.name for path in found.iterdir()) if found.is_dir() else []

    def said(self) -> str:
        return "".join(process.output for process in self._served)


def status_line(connection: socket.socket) -> str:
    """The first line of the answer."""
    received = b""
    while b"\r\n" not in received:
        chunk = connection.recv(4096)
        if not chunk:
            break
        received += chunk
    return received.split(b"\r\n")[0].decode()
