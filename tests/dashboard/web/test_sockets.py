"""WebSockets against a real server: whole state on connect, one rule of who sees what, and being cut off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from dashboard.routing import websocket_urlpatterns
from tests.dashboard.web.server import Person, RealServer

ARRANGE = """
import json
import django
django.setup()
from django.contrib.auth.models import User
from dashboard.models import Job, JobShare, Replay, Status
owner, shared = (User.objects.get(username=name) for name in ("owner", "shared"))
job = Job.objects.create(owner=owner, name="a job", content_id="c" * 64, status=Status.FAILED, message="It failed.")
JobShare.objects.create(job=job, user=shared, granted_by=owner, payloads=True)
replay = Replay.objects.create(job=job, owner=owner, failure=0, status=Status.CANCELLED)
print(json.dumps({"job_id": job.id, "replay_id": replay.id}))
"""
AUDITED = """
import sys
import django
django.setup()
from dashboard.models import Job, JobAudit, JobShare, Status
from dashboard.models.audits import audit_id
job = Job.objects.get(id=sys.argv[1])
JobShare.objects.update(payloads=False)
JobAudit.objects.create(id=audit_id(job.id), job=job, status=Status.FAILED, message="It failed of a key.")
"""
STATE = {"status", "phase", "done", "total", "unit", "message"}
CSRF = "a" * 32


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    running = RealServer(tmp_path_factory.mktemp("sockets") / "data")
    running.start()
    yield running
    running.stop()


@pytest.fixture
def people(server: RealServer) -> dict[str, Person]:
    return server.people(owner=None, shared=None, other=None)


@pytest.fixture
def things(server: RealServer, people: dict[str, Person]) -> dict[str, str]:
    return dict(json.loads(server.run(ARRANGE)))


def cookie(person: Person) -> dict[str, str]:
    return {"Cookie": f"clonoscope_session={person.session}; clonoscope_csrf={CSRF}"}


@contextmanager
def socket(server: RealServer, path: str, headers: dict[str, str], origin: str | None) -> Iterator[ClientConnection]:
    url = server.url.replace("http://", "ws://") + path
    with connect(url, additional_headers=headers, origin=origin, open_timeout=20) as connection:  # type: ignore[arg-type]
        yield connection


def paths(things: dict[str, str]) -> dict[str, str]:
    found = {}
    for pattern in websocket_urlpatterns:
        route = str(pattern.pattern)
        for name, value in things.items():
            route = route.replace(f"<str:{name}>", value)
        found[pattern.name] = "/" + route
    return found


def test_every_socket_is_tested(things: dict[str, str]) -> None:
    assert set(paths(things)) == {"ws-job", "ws-replay"}
    assert not any("<" in path for path in paths(things).values())


@pytest.mark.parametrize("name", ["ws-job", "ws-replay"])
def test_who_may_watch(server: RealServer, people: dict[str, Person], things: dict[str, str], name: str) -> None:
    revoked = server.people(owner=None)["owner"]
    with server.client() as client:
        token_id = server.run(_REVOKE, revoked.token)
        assert token_id.strip() == "1" and client.get("/healthz").status_code == 200
    ours, strangers = server.url, "https://elsewhere.example"
    tried = {
        "owner": (cookie(people["owner"]), ours),
        "shared": (cookie(people["shared"]), ours),
        "token": (people["owner"].bearer, None),
        "shared token": (people["shared"].bearer, None),
        "other": (cookie(people["other"]), ours),
        "other token": (people["other"].bearer, None),
        "anonymous": ({}, ours),
        "revoked": (revoked.bearer, None),
        "stranger's page": (cookie(people["owner"]), strangers),
        "no origin": (cookie(people["owner"]), None),
        "opaque origin": (cookie(people["owner"]), "null"),
    }
    seen = {who: _state(server, paths(things)[name], *how) is not None for who, how in tried.items()}
    assert {who for who, sees in seen.items() if sees} == {"owner", "shared", "token", "shared token"}


def test_a_socket_begins_with_the_whole_state(
    server: RealServer, people: dict[str, Person], things: dict[str, str]
) -> None:
    state = _state(server, paths(things)["ws-job"], people["owner"].bearer, None)
    assert state is not None and set(state) == STATE
    assert (state["status"], state["message"]) == ("failed", "It failed.")


def test_a_jobs_socket_tells_of_its_audit_too(
    server: RealServer, people: dict[str, Person], things: dict[str, str]
) -> None:
    server.run(AUDITED, things["job_id"])
    for who, says in (("owner", "It failed of a key."), ("shared", "•••")):
        with socket(server, paths(things)["ws-job"], people[who].bearer, None) as connection:
            first, second = (json.loads(connection.recv(timeout=20)) for _ in range(2))
        assert set(first) == set(second["audit"]) == set(second) - {"audit"} == STATE
        assert second["status"] == "failed"
        assert (second["audit"]["status"], second["audit"]["message"]) == ("failed", says)


def test_an_unknown_address_is_refused(server: RealServer, people: dict[str, Person]) -> None:
    assert _state(server, "/ws/nothing/", people["owner"].bearer, None) is None
    assert "Traceback" not in server.said()


def test_another_host_name_is_refused(server: RealServer, people: dict[str, Person], things: dict[str, str]) -> None:
    """A stranger's name that resolves to this machine: its page would have our origin by its own name."""
    headers = {**cookie(people["owner"]), "Host": "elsewhere.example"}
    assert _state(server, paths(things)["ws-job"], headers, "http://elsewhere.example") is None


@pytest.mark.parametrize("name", ["ws-job", "ws-replay"])
@pytest.mark.parametrize("ending", ["unshared", "logged out", "revoked", "deleted"])
def test_who_loses_access_is_cut_off(
    server: RealServer, people: dict[str, Person], things: dict[str, str], name: str, ending: str
) -> None:
    shared, owner = people["shared"], people["owner"]
    headers = shared.bearer if ending == "revoked" else cookie(shared)
    origin = None if ending == "revoked" else server.url
    with socket(server, paths(things)[name], headers, origin) as connection:
        assert set(json.loads(connection.recv(timeout=20))) == STATE
        with server.client() as client:
            _end(server, client, ending, owner, shared, things)
        with pytest.raises(ConnectionClosed):
            # Long before the socket would ask again by itself.
            connection.recv(timeout=10)


def test_others_stay_when_one_is_cut_off(server: RealServer, people: dict[str, Person], things: dict[str, str]) -> None:
    path = paths(things)["ws-job"]
    with (
        socket(server, path, people["owner"].bearer, None) as owners,
        socket(server, path, people["shared"].bearer, None) as shareds,
        server.client() as client,
    ):
        owners.recv(timeout=20)
        shareds.recv(timeout=20)
        _end(server, client, "unshared", people["owner"], people["shared"], things)
        with pytest.raises(ConnectionClosed):
            shareds.recv(timeout=10)
        retried = client.post(f"/api/v1/jobs/{things['job_id']}/retry", headers=people["owner"].bearer)
        assert retried.status_code == 409, "its bundle is not in the store"
        owners.ping().wait(10)


def _state(server: RealServer, path: str, headers: dict[str, str], origin: str | None) -> dict[str, Any] | None:
    try:
        with socket(server, path, headers, origin) as connection:
            return dict(json.loads(connection.recv(timeout=20)))
    except InvalidStatus as refused:
        assert refused.response.status_code in (403, 404)
        return None


def _end(server: RealServer, client: Any, ending: str, owner: Person, shared: Person, things: dict[str, str]) -> None:
    """Through the pages, as people do it."""
    if ending == "deleted":
        assert client.delete(f"/api/v1/jobs/{things['job_id']}", headers=owner.bearer).status_code == 204
        return
    path, who = {
        "unshared": (f"/jobs/{things['job_id']}/unshare/{shared.id}/", owner),
        "logged out": ("/logout/", shared),
        "revoked": (f"/account/tokens/{server.run(_TOKEN_ID, shared.token).strip()}/revoke/", shared),
    }[ending]
    answer = client.post(path, headers={**cookie(who), "X-CSRFToken": CSRF})
    assert answer.status_code == 302, answer.text


_TOKEN_ID = """
import sys
import django
django.setup()
from dashboard.people import tokens
print(tokens.token_of(sys.argv[1]).id)
"""
_REVOKE = """
import sys
import django
django.setup()
from dashboard.models import ApiToken
from dashboard.people import tokens
token = tokens.token_of(sys.argv[1])
tokens.revoke(token)
print(int(tokens.token_of(sys.argv[1]) is None))
"""
