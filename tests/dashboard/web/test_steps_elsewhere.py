"""Steps that were made where a job's code is, sent to a real server: kept whole beside the job, or refused whole."""

from __future__ import annotations

import io
import json
import os
import signal
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.server_process import wait_until
from replay.debugger.elsewhere.tables import STEP_KINDS as KINDS
from tests.clonoscope.jobs_on_site import PRICING, Site, run_pricing
from tests.dashboard.web.server import Person, RealServer
from tests.dashboard.web.test_flow import ingested

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    running = RealServer(tmp_path_factory.mktemp("elsewhere") / "data")
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def people(server: RealServer) -> dict[str, Person]:
    return server.people(ada=None, bob=None)


@pytest.fixture(scope="module")
def client(server: RealServer, people: dict[str, Person]) -> Iterator[httpx.Client]:
    with server.client(people["ada"]) as client:
        yield client


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    made = Site(tmp_path_factory.mktemp("site"))
    made.write("pricing", PRICING)
    made.write("cheaper", PRICING.replace('"price": price', '"price": price - (key == "k4")'))
    return made


@pytest.fixture(scope="module")
def bundle(site: Site) -> Path:
    return site.record("orders", run_pricing)


@pytest.fixture(scope="module")
def job(server: RealServer, people: dict[str, Person], client: httpx.Client, bundle: Path) -> dict[str, Any]:
    made = ingested(server, people["ada"], client, "orders.zip", bundle.read_bytes())
    assert made["status"] == "ready", made
    return made


def steps_of(site: Site, bundle: Path, app: str) -> bytes:
    out = site.folder / f"{app}.zip"
    if not out.exists():
        done = site.command("replay", bundle, "--app", f"{app}:process", "--out", out)
        assert out.exists(), done
    return out.read_bytes()


def send(client: httpx.Client, job: dict[str, Any], data: bytes, path: str = "replays") -> httpx.Response:
    return client.post(f"/api/v1/jobs/{job['id']}/{path}", files={"steps": ("steps.zip", data)})


@pytest.mark.parametrize("path", ["replays", "replays/steps"])
def test_steps_are_there_to_be_looked_at(
    client: httpx.Client, site: Site, bundle: Path, job: dict[str, Any], path: str
) -> None:
    answer = send(client, job, steps_of(site, bundle, "cheaper"), path)
    assert answer.status_code == 202, answer.text
    replay = answer.json()
    assert (replay["verdict"], replay["elsewhere"], replay["task"], replay["attempt"]) == (
        "diverged",
        True,
        "orders.0",
        0,
    )
    assert replay["detail"]["record"] == "orders[0]@4" and replay["detail"]["line"]["function"] == "process"
    steps = client.get(f"/api/v1/replays/{replay['id']}/steps", params={"from": 0, "to": 1000}).json()["steps"]
    assert len(steps) == replay["steps"] and steps[-2]["kind"] == "diverge"
    asked = next(one for one in steps if "the call price gave" in one["text"])
    why = client.get(f"/api/v1/replays/{replay['id']}/why", params={"step": asked["step"], "depth": 1}).json()
    row = next(one["row"] for one in why["causes"] if one["ref"].startswith("det:"))
    assert row is not None and row["kind"] == "serializable", why
    found = client.get(
        f"/api/v1/replays/{replay['id']}/find", params={"after": 0, "where": json.dumps({"kind": "write-record"})}
    )
    assert found.json()["step"]["text"].startswith("Gives ")
    page = client.get(f"/replays/{replay['id']}/", params={"step": 3})
    assert page.status_code == 200 or page.status_code == 302


def test_what_is_of_here_can_t_be_done_with_it(
    client: httpx.Client, site: Site, bundle: Path, job: dict[str, Any]
) -> None:
    replay = send(client, job, steps_of(site, bundle, "cheaper")).json()
    for answer in (
        client.post(f"/api/v1/replays/{replay['id']}/forks", json={"step": 1, "change": {"change": "lost"}}),
        client.get(f"/api/v1/replays/{replay['id']}/excerpt"),
        client.post(f"/api/v1/replays/{replay['id']}/retry"),
    ):
        assert answer.status_code == 409, answer.text
    assert client.get(f"/api/v1/replays/{replay['id']}/changes", params={"step": 1}).json()["changes"] == []
    assert client.delete(f"/api/v1/replays/{replay['id']}").status_code == 204


def again(data: bytes, change: Callable[[dict[str, bytes]], None]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return out.getvalue()


def told(**changed: Any) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        members["replay.json"] = json.dumps(json.loads(members["replay.json"]) | changed).encode()

    return change


def bad_line(members: dict[str, bytes]) -> None:
    members["steps.ndjson"] = members["steps.ndjson"].replace(b'"kind":"restore"', b'"kind":"steal"')


BENT: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "no zip": (lambda data: b"nothing", "no archive"),
    "empty": (lambda data: b"", "empty"),
    "cut": (lambda data: data[: len(data) // 2], "cut short"),
    "a line": (lambda data: again(data, bad_line), "steps.ndjson: line 1: kind is none of"),
    "another recording": (lambda data: again(data, told(recording="0" * 64)), "another recording"),
    "a bundle": (lambda data: again(data, lambda members: members.update({"job.json": b"{}"})), "no such table"),
    "out": (lambda data: again(data, lambda members: members.update({"../../x": b"{}"})), ""),
}


@pytest.mark.parametrize("name", BENT)
def test_what_is_bent_is_refused_and_nothing_of_it_stays(
    server: RealServer, client: httpx.Client, site: Site, bundle: Path, job: dict[str, Any], name: str
) -> None:
    bend, said = BENT[name]
    before = lying(server), client.get(f"/api/v1/jobs/{job['id']}/replays").json()
    answer = send(client, job, bend(steps_of(site, bundle, "pricing")))
    assert answer.status_code == 422, answer.text
    assert said in answer.json()["error"]["message"], answer.text
    assert (lying(server), client.get(f"/api/v1/jobs/{job['id']}/replays").json()) == before


def lying(server: RealServer) -> list[str]:
    """What lies in the lake's replays and in the store."""
    roots = server.data / "lake" / "replays", server.data / "store"
    walked = (one for root in roots for one in os.walk(root))  # what goes meanwhile is no fault
    return sorted(str(Path(folder) / name) for folder, folders, files in walked for name in (*folders, *files))


def test_who_may_not_see_the_job_may_not_send(
    server: RealServer, people: dict[str, Person], site: Site, bundle: Path, job: dict[str, Any]
) -> None:
    data = steps_of(site, bundle, "pricing")
    for person, status in ((people["bob"], 404), (None, 401)):
        with server.client(person) as client:
            assert send(client, job, data).status_code == status
    with server.client(people["ada"]) as client:
        assert client.post(f"/api/v1/jobs/{job['id']}/replays/steps", json={}).status_code == 415
        assert client.post(f"/api/v1/jobs/{job['id']}/replays", files={"bundle": ("x", data)}).status_code == 422


def odd(members: dict[str, bytes]) -> None:
    """All that the rules allow, at its ends: nothing of it may break a page."""
    most, script = (1 << 53) - 1, "<script>alert(1)</script>\u202e{{ 7 }}{% x %}"
    steps = [json.loads(one) for one in members["steps.ndjson"].splitlines()]
    ends = {"epoch": (1 << 63) - 1, "record_count": most, "t_us": most, "log_offset": most, "buffer": most}
    for number, one in enumerate(steps):
        one |= {"text": f"{script} {number}", "bytes": most, "channel": script[:9] + ">" + script[9:]}
        one |= ends if number % 2 else {"t_us": 0, "epoch": 0}
        one |= {"actor": ("main", "coordinator", "out-999999999")[number % 3]}
        one |= {"state": ("Running", "Replaying", "Standby")[number % 3], "kind": KINDS[number % len(KINDS)]}
    members["steps.ndjson"] = b"".join(json.dumps(one).encode() + b"\n" for one in steps)
    causes = ["event:999999999", "det:nobody.0/9/main/5#1", "delta:a>b#3/x.0/main", "det:orders.0/0/main/0#99999999"]
    rows = [{"step": n, "cause": one} for n in range(1, 4) for one in (*causes, f"step:{n - 1}")]
    members["causes.ndjson"] = b"".join(json.dumps(one).encode() + b"\n" for one in rows)
    values = ['"' + "x" * 10_000 + '"', "[" * 400 + "]" * 400, "1e308", '{"":{"\\u0000":[]}}']
    changes = [
        {"step": 1, "task": "orders.0", "key": f"k[{n}] {script}", "before": None, "after": one}
        for n, one in enumerate(values)
    ]
    members["state_changes.ndjson"] = b"".join(json.dumps(one).encode() + b"\n" for one in changes)
    members["taken.ndjson"] = b"".join(
        json.dumps({"step": n, "task": "orders.0", "determinant": kind, "value": value, "name": script}).encode()
        + b"\n"
        for n, (kind, value) in enumerate((("order", -(1 << 63)), ("timestamp", (1 << 63) - 1), ("take", 7)))
    )
    buffers = [
        {
            "step": n,
            "task": "orders.0",
            "channel": script,
            "seq": most,
            "bytes": most,
            "was_received_before": None,
            "matches": False,
        }
        for n in range(3)
    ]
    members["buffers.ndjson"] = b"".join(json.dumps(one).encode() + b"\n" for one in buffers)
    members["open_orders.ndjson"] = b'{"step": 3, "before": 0}\n'
    detail = {
        "app": script,
        "asked": script,
        "logged": script,
        "member": script,
        "offset": most,
        "record": script,
        "line": {"file": script, "line": most, "function": script, "text": script},
        "why": [script],
        "step": 2,
    }
    told(verdict="diverged", sentence=script, detail=detail)(members)


def test_what_is_odd_and_allowed_breaks_no_page(
    server: RealServer, people: dict[str, Person], site: Site, bundle: Path, job: dict[str, Any]
) -> None:
    with server.client(people["ada"]) as client:
        answer = send(client, job, again(steps_of(site, bundle, "pricing"), odd))
        assert answer.status_code == 202, answer.text
        replay, count = answer.json()["id"], answer.json()["steps"]
        for step in range(5):
            for what in ("why", "effects", "state", "changes"):
                found = client.get(f"/api/v1/replays/{replay}/{what}", params={"step": step, "depth": 3})
                assert found.status_code == 200, (what, step, found.text)
    with httpx.Client(base_url=server.url, cookies={"clonoscope_session": people["ada"].session}) as browser:
        for step in (0, 1, 2, 3, count - 1):
            for part in ("", "panels", "outcome"):
                page = browser.get(f"/replays/{replay}/", params={"step": step, "part": part})
                assert page.status_code == 200 and "<script>alert" not in page.text, (step, part, page.text[:2000])
        for path in (
            "strip/",
            "rows/steps/?from=0&count=20",
            "rows/log/?from=0&count=20",
            "rows/inputs/?from=0&count=20",
            "rows/outputs/?from=0&count=20",
            "breakpoints/",
            "notes/",
        ):
            answer = browser.get(f"/replays/{replay}/{path}")
            assert answer.status_code == 200 and "<script>alert" not in answer.text, (path, answer.text[:2000])
        for path in ("", "replays/"):
            assert browser.get(f"/jobs/{job['id']}/{path}").status_code == 200
    assert "Traceback" not in server.said()


def test_they_count_into_the_quota(
    server: RealServer, client: httpx.Client, site: Site, bundle: Path, job: dict[str, Any]
) -> None:
    set_quota = """
import sys, django
django.setup()
from django.contrib.auth.models import User
from dashboard.models import Quota
from dashboard.people import quotas
user = User.objects.get(username="ada")
more = int(sys.argv[1])
Quota.objects.filter(user=user).delete()
if more:
    Quota.objects.create(user=user, max_bytes=quotas.stored_bytes(user) + more)
print(quotas.stored_bytes(user))
"""
    data = steps_of(site, bundle, "pricing")
    stored = int(server.run(set_quota, str(len(data) + 3_000)))
    try:
        before = lying(server)
        refused = send(client, job, data)
        assert refused.status_code == 413 and refused.json()["error"]["code"] == "over-quota", refused.text
        assert lying(server) == before
    finally:
        server.run(set_quota, "0")
    assert send(client, job, data).status_code == 202
    assert int(server.run(set_quota, "0")) > stored


def test_a_page_without_scripts_is_led_to_the_replay(
    server: RealServer, people: dict[str, Person], site: Site, bundle: Path, job: dict[str, Any]
) -> None:
    with httpx.Client(base_url=server.url, cookies={"clonoscope_session": people["ada"].session}) as browser:
        page = browser.get(f"/jobs/{job['id']}/replays/")
        assert 'action="/api/v1/jobs/' in page.text and 'enctype="multipart/form-data"' in page.text
        token = page.text.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
        files = {"steps": ("steps.zip", steps_of(site, bundle, "pricing"))}
        address = f"/api/v1/jobs/{job['id']}/replays"
        assert browser.post(address, files=files, data={"csrfmiddlewaretoken": "x" * 64}).status_code == 403
        answer = browser.post(address, files=files, data={"csrfmiddlewaretoken": token})
        assert answer.status_code == 303 and answer.headers["location"].startswith("/replays/r_"), answer.text
        shown = browser.get(answer.headers["location"])
        assert shown.status_code == 200 and "made elsewhere" in shown.text and "identical" in shown.text


@pytest.mark.processes
def test_a_server_that_is_killed_meanwhile_leaves_nothing(
    server: RealServer, people: dict[str, Person], site: Site, bundle: Path, job: dict[str, Any]
) -> None:
    """Killed when the child's folder is there; what it left is gone soon after the next start."""

    def many(members: dict[str, bytes]) -> None:
        row = json.loads(members["steps.ndjson"].splitlines()[0])
        lines = (json.dumps(row | {"step": number}).encode() for number in range(400_000))
        members.update({"steps.ndjson": b"\n".join(lines) + b"\n"})
        told(steps=400_000)(members)

    data = again(steps_of(site, bundle, "pricing"), many)
    before = [one for one in lying(server) if ".elsewhere" in one]
    with server.client(people["ada"]) as client:
        sending = threading.Thread(target=lambda: _quietly(lambda: send(client, job, data)))
        sending.start()
        wait_until(lambda: [one for one in lying(server) if ".elsewhere" in one] != before, "its folder", 60)
        server.stop(signal.SIGKILL)
        sending.join()
    server.start()
    wait_until(lambda: [one for one in lying(server) if ".elsewhere" in one] == before, "leftovers to go", 90)
    with server.client(people["ada"]) as client:
        assert send(client, job, steps_of(site, bundle, "pricing")).status_code == 202


def _quietly(action: Callable[[], object]) -> None:
    try:
        action()
    except httpx.HTTPError:
        pass  # the server was killed
