"""The front door where one machine is outgrown: PostgreSQL, Redis, TLS ahead of it; the same rules and answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.dashboard.web import bundles
from tests.dashboard.web.server import RealServer
from tests.dashboard.web.test_sockets import ARRANGE

pytestmark = pytest.mark.services
HTTPS = {"X-Forwarded-Proto": "https"}


@pytest.fixture
def server(tmp_path: Path, postgres_url: str, redis_url: str) -> Iterator[RealServer]:
    running = RealServer(
        tmp_path / "data",
        environment={"DATABASE_URL": postgres_url, "REDIS_URL": redis_url, "SECRET_KEY": "k" * 60},
    )
    running.start()
    yield running
    running.stop()


def test_the_front_door_behind_tls(server: RealServer) -> None:
    people = server.people(owner=None, shared=None)
    owner, shared = people["owner"], people["shared"]
    with server.client() as client:
        plain = client.post("/api/v1/jobs", files={"bundle": ("x.zip", bundles.good())}, headers=owner.bearer)
        assert plain.status_code == 301 and plain.headers["location"].startswith("https://")
        assert server.files("uploads") == server.files("bundles") == []
        assert client.get("/healthz").status_code == 200

        login = client.get("/login/", headers=HTTPS)
        assert login.status_code == 200
        assert "max-age=31536000" in login.headers["strict-transport-security"]
        cookie = login.headers["set-cookie"].lower()
        assert "secure" in cookie and "samesite=lax" in cookie

        bundle = {"bundle": ("x.zip", bundles.padded(3 << 20))}
        stored = client.post("/api/v1/jobs", files=bundle, headers=owner.bearer | HTTPS)
        assert stored.status_code == 202, stored.text
        assert stored.json()["status"] == "queued" and server.files("uploads") == []

        things = json.loads(server.run(ARRANGE))
        address = server.url.replace("http://", "ws://") + f"/ws/jobs/{things['job_id']}/"
        with connect(address, additional_headers=shared.bearer) as socket:
            assert json.loads(socket.recv(timeout=20))["status"] == "failed"
            cookies = f"clonoscope_session={owner.session}; clonoscope_csrf={'a' * 32}"
            ours = {"Cookie": cookies, "X-CSRFToken": "a" * 32, "Referer": server.url.replace("http", "https") + "/"}
            ended = client.post(f"/jobs/{things['job_id']}/unshare/{shared.id}/", headers=ours | HTTPS)
            assert ended.status_code == 302, ended.text
            with pytest.raises(ConnectionClosed):
                socket.recv(timeout=10)
