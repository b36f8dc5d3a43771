"""Who sees a job without its payloads gets none of its values, at any address, on any socket; looks are kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

import clonoscope
from ingest.lake.schema import LAKE_TABLES
from ingest.lake.sealing import SIGN
from replay.guarantees.audit import PARTS
from replay.guarantees.reporting.documents import FORMS
from tests.clonoscope.recorded import recording
from tests.dashboard.web.server import Person, RealServer
from tests.dashboard.web.test_flow import ingested, watched
from tests.dashboard.web.test_flow import recording as engine_recording  # noqa: F401 - a fixture
from tests.dashboard.web.test_permissions import filled, ours

# Some hundred addresses, asked twice: on a machine with much to do that takes minutes.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

PLANTED = tuple(
    f"planted{what}Qx7" for what in ("Key", "Record", "Answer", "Output", "Cause", "Gap", "Note", "Search", "Fork")
)
KEY, RECORD, ANSWER, OUTPUT, CAUSE, GAP, NOTE, SEARCH, FORK = PLANTED
MESSAGE = "plantedMessageQx7"
EVIDENCE = (
    "event:1", "event:6", "sink:orders.0/0/0%230", "source:orders.0/0%230", "log:orders.0/0/main/0@0",
    "sink:sink.0/0/0%230", "source:source.0/0%230", "buffer:source.0%3Emap-1.0/0%230",
    "receipt:source.0%3Emap-1.0/0%230/0", "state:map-1.0/0/1", "det:map-1.0/0/main/0%230",
)  # fmt: skip
FAILED = """
import json, sys
import django
django.setup()
from django.contrib.auth.models import User
from dashboard.models import Job, JobShare, Replay, Status
owner, reader = (User.objects.get(username=name) for name in ("ada", "reader"))
job = Job.objects.create(owner=owner, name="failed", content_id="d" * 64, status=Status.FAILED, message=sys.argv[1])
JobShare.objects.create(job=job, user=reader, granted_by=owner)
replay = Replay.objects.create(job=job, owner=owner, failure=0, status=Status.FAILED, message=sys.argv[1])
print(json.dumps({"job_id": job.id, "replay_id": replay.id}))
"""


@dataclass
class House:
    server: RealServer
    ada: Person
    reader: Person
    things: list[dict[str, Any]]
    values: set[str]

    def pages(self, person: Person) -> httpx.Client:
        cookies = {"clonoscope_session": person.session, "clonoscope_csrf": "a" * 32}
        headers = {"X-CSRFToken": "a" * 32, "Accept": "text/html", "Referer": self.server.url}
        return httpx.Client(base_url=self.server.url, cookies=cookies, headers=headers, timeout=60)


def planted_bundle(folder: Path) -> bytes:
    """A job of the recorder: what went in and out, an answer from outside, an exception's words, a gap's."""
    with recording(folder / "recorded", payload="full") as made:
        task = made.task("orders", 0, operator="jobs.orders:process")
        try:
            with task.epoch(0):
                task.take(0, topic="orders", partition=0, record=[KEY, 0, {"name": RECORD}])
                clonoscope.external(lambda: {"said": ANSWER}, name="price")
                task.output([OUTPUT, 0, {"out": OUTPUT}])
                task.log.gap(GAP)
                raise ValueError(CAUSE)
        except ValueError:
            pass
        with task.epoch(0):
            task.take(0, topic="orders", partition=0, record=[KEY, 0, {"name": RECORD}])
    return made.dump(folder / "planted.zip").read_bytes()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[House]:
    # With audits unasked, as they are by default.
    environment = {"CLONOSCOPE_AUDIT_UNASKED_BYTES": str(16 << 20)}
    server = RealServer(tmp_path_factory.mktemp("payloads") / "data", environment=environment)
    server.start()
    people = server.people(ada=None, reader=None)
    ada = people["ada"]
    try:
        with server.client(ada) as client:
            engine = ingested(server, ada, client, "engine.tar.gz", request.getfixturevalue("engine_recording"))
            planted = ingested(server, ada, client, "planted.zip", planted_bundle(tmp_path_factory.mktemp("planted")))
            made = House(server, ada, people["reader"], [], set())
            made.things = [
                _prepared(made, client, engine["id"], {"failure": 0}),
                _prepared(made, client, planted["id"], {"task": "orders.0", "attempt": 0}),
                dict(json.loads(server.run(FAILED, MESSAGE))),
            ]
            made.values = {*PLANTED, MESSAGE} | _values_of(client, made.things[0], engine["facts"]["origin_ms"])
        yield made
    finally:
        server.stop()


def _prepared(house: House, client: httpx.Client, job: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Shared without payloads; replayed, noted on, searched for and forked by its owner."""
    assert client.put(f"/api/v1/jobs/{job}/shares/reader", json={"payloads": False}).status_code == 200
    _audited(house, job)
    replay = client.post(f"/api/v1/jobs/{job}/replays", json=asked).json()["id"]
    watched(house.server, house.ada, f"/ws/replays/{replay}/")
    at = f"/api/v1/replays/{replay}"
    note = client.post(f"{at}/notes", json={"text": NOTE, "first": 0}).json()["id"]
    search = {"search": f'change(after contains "{SEARCH}")', "label": SEARCH}
    kept = client.post(f"{at}/breakpoints", json=search)
    assert kept.status_code == 201, kept.text
    steps = client.get(f"{at}/steps").json()["steps"]
    for step in (one["step"] for one in steps if one["kind"] == "take-determinant"):
        changed = {"step": step, "change": {"change": "value", "value": FORK}}
        if client.post(f"{at}/forks", json=changed).status_code == 202:
            break
    return {"job_id": job, "replay_id": replay, "note_id": note, "breakpoint_id": kept.json()["id"]}


def _audited(house: House, job: str) -> None:
    """As small jobs are, unasked; returns when the report is there."""
    address = f"{house.server.url.replace('http://', 'ws://')}/ws/jobs/{job}/"
    with connect(address, additional_headers=house.ada.bearer, open_timeout=20) as socket:
        status = "queued"
        while status in ("queued", "running"):
            status = json.loads(socket.recv(timeout=120)).get("audit", {}).get("status", status)
    assert status == "ready"


def _values_of(client: httpx.Client, things: dict[str, Any], origin_ms: int) -> set[str]:
    """What the engine's own recording says: clocks and random numbers of its logs, keys and values of its state."""
    found: set[str] = set()
    for table, columns in (("determinants", ("value",)), ("sinks", ("key", "value")), ("sources", ("key", "value"))):
        page = client.get(f"/api/v1/jobs/{things['job_id']}/tables/{table}", params={"limit": 1000}).json()
        places = [page["columns"].index(name) for name in columns]
        found |= {str(row[place]) for row in page["rows"] for place in places if row[place] is not None}
    replay = client.get(f"/api/v1/replays/{things['replay_id']}").json()
    state = client.get(f"/api/v1/replays/{things['replay_id']}/state", params={"step": replay["steps"] - 1}).json()
    found |= {entry[name] for entry in state["entries"] for name in ("key", "value")}
    # Short ones stand everywhere; the clock's origin is in the manifest.
    return {one for one in found if len(one) >= 9 and one != str(origin_ms)}


def addresses(house: House) -> list[str]:
    """Every address of the URL conf that may be asked for, of every job, and those with queries that ask for more."""
    fixed = {"token_id": 1, "user_id": 1, "upload_id": "u_000000000000", "name": "steps", "task": "map-1.0",
             "table": "events", "kind": "csv", "username": "reader", "note_id": 1, "breakpoint_id": 1}  # fmt: skip
    found = []
    for things in house.things:
        found += [filled(route, {**fixed, **things}) for route in ours()]
        job, replay = f"jobs/{things['job_id']}", f"replays/{things['replay_id']}"
        found += [f"/api/v1/{job}/tables/{table}?limit=1000" for table in LAKE_TABLES]
        found += [f"/api/v1/{job}/audit/document?format={form}" for form in FORMS]
        found += [f"/{job}/audit/?all={name}" for name in PARTS]
        found += [f"/{job}/evidence/?of={name}" for name in EVIDENCE]
        found += [
            f"/{job}/logs/?task={task}&kind={kind}"
            for task in ("map-1.0", "orders.0")
            for kind in ("", "rng", "timestamp")
        ]
        for step in range(0, 400, 57):
            found += [f"/{replay}/?step={step}&why=all", f"/api/v1/{replay}/why?step={step}&depth=50"]
        found += [f"/api/v1/{replay}/{path}" for path in (
            "steps?from=0&to=1000", "state?step=300&limit=1000", "effects?step=1&depth=9", "changes?step=40",
            "find?after=0&where=kind%20=%20deliver-record", "hits?where=kind%20=%20append", "go?to=last",
            "go?to=continue",
        )]  # fmt: skip
        found += [f"/{replay}/rows/{name}/?from=0&count=200" for name in ("steps", "log", "inputs", "outputs", "forks")]
        found += [f"/{replay}/rows/hits/?find=kind%20=%20append", f"/{replay}/hits/?find=sent&step=40"]
        found += [f"/{replay}/?step=40&find=change", f"/{replay}/?step=40&find=value%20%3E%201"]
        found += [
            f"/{job}/?part=task",
            f"/{replay}/?part=panels&step=200",
            f"/{replay}/?part=outcome",
            f"/{job}/?task=orders.0",
        ]
        found += [f"/{job}/sql/?q=FROM+{table}" for table in ("sinks", f"replay_{things['replay_id']}.state_changes")]
        found += [f"/compare/?job={things['job_id']}&task=map-1.0&attempt=0&other_attempt=1"]
    return list(dict.fromkeys(found))


def told(house: House, person: Person) -> dict[str, str]:
    """What each address answers them, headers included."""
    answers = {}
    with house.server.client(person) as api, house.pages(person) as pages:
        for address in addresses(house):
            answer = (api if address.startswith("/api/") else pages).get(address)
            answers[address] = f"{answer.status_code}\n{answer.headers}\n{answer.text}"
    return answers


def quoting(house: House, answers: dict[str, str]) -> dict[str, list[str]]:
    return {where: found for where, text in answers.items() if (found := [one for one in house.values if one in text])}


def test_no_address_tells_a_value_to_who_may_not_see_it(house: House) -> None:
    assert len(house.values) > 100
    answers = told(house, house.reader)
    assert quoting(house, answers) == {}
    broken = [where for where, text in answers.items() if text.startswith("500")]
    assert not broken, (broken, house.server.said()[-4000:])
    assert sum(SIGN in text for text in answers.values()) > 30
    # The same addresses tell their owner: the test would notice.
    owners = quoting(house, told(house, house.ada))
    seen = {one for found in owners.values() for one in found}
    assert seen >= {KEY, RECORD, ANSWER, OUTPUT, CAUSE, GAP, NOTE, SEARCH, FORK, MESSAGE}, house.values - seen
    parts = (
        "/evidence/",
        "/logs/",
        "/tables/determinants",
        "/tables/sinks",
        "/state",
        "/steps",
        "/why",
        "/notes",
        "/forks",
        "/log/",
    )
    assert [part for part in parts if not any(part in where for where in owners)] == []


def test_no_socket_tells_a_value_to_who_may_not_see_it(house: House) -> None:
    url = house.server.url.replace("http://", "ws://")
    for things in house.things:
        for path in (f"/ws/jobs/{things['job_id']}/", f"/ws/replays/{things['replay_id']}/"):
            said = {}
            for person in (house.ada, house.reader):
                with connect(url + path, additional_headers=person.bearer, open_timeout=20) as socket:
                    said[person.name] = str(socket.recv(timeout=30))
            assert not [one for one in house.values if one in said["reader"]], path
            assert (MESSAGE in said["ada"]) == (things is house.things[2])


def test_what_would_tell_values_otherwise_is_refused(house: House) -> None:
    things = house.things[0]
    job, replay = f"/api/v1/jobs/{things['job_id']}", f"/api/v1/replays/{things['replay_id']}"
    refused = (
        f"{replay}/find?after=0&where=value%20%3E%205", f'{replay}/hits?where=text%20contains%20"a"',
        f"{replay}/state?step=1&prefix=a", f"{replay}/excerpt", f"{job}/tables/determinants?value=5",
        f"{job}/tables/determinants?value.from=5", f"{job}/tables/events?cause=x",
        f"/api/v1/compare?job={things['job_id']}&task=map-1.0&attempt=0&other_attempt=1",
    )  # fmt: skip
    with house.server.client(house.reader) as client:
        for address in refused:
            answer = client.get(address)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "payloads-hidden"), address
        kept = client.post(f"{replay}/breakpoints", json={"search": "value > 5"})
        assert kept.status_code == 403
        made = client.post(f"{job}/replays", json={"failure": 0}).json()
        own = client.post(f"/api/v1/replays/{made['id']}/breakpoints", json={"search": "value > 5"})
        assert (own.status_code, own.json()["error"]["code"]) == (403, "payloads-hidden")
        watched(house.server, house.reader, f"/ws/replays/{made['id']}/")
        steps = client.get(f"/api/v1/replays/{made['id']}/steps").text
        assert not [one for one in house.values if one in steps]


def test_looks_are_written_down_for_the_owner_and_staff(house: House) -> None:
    job = house.things[1]["job_id"]
    with house.server.client(house.ada) as client, house.server.client(house.reader) as reader:
        client.get(f"/api/v1/jobs/{job}/tables/sinks")
        reader.get(f"/api/v1/jobs/{job}/tables/sinks")
        looks = client.get(f"/api/v1/jobs/{job}/looks").json()["looks"]
        mine = [one for one in looks if one["what"] == f"/api/v1/jobs/{job}/tables/sinks"]
        # Who sees signs looks at nothing.
        assert {one["who"] for one in mine} == {"ada"}
        assert {one["who"] for one in looks} == {"ada"}
        assert reader.get(f"/api/v1/jobs/{job}/looks").status_code == 403
        assert client.put(f"/api/v1/jobs/{job}/shares/reader", json={"payloads": True}).json()["payloads"] is True
        assert OUTPUT in reader.get(f"/api/v1/jobs/{job}/tables/sinks").text
        looks = client.get(f"/api/v1/jobs/{job}/looks").json()["looks"]
        assert {one["who"] for one in looks if one["who"] != "ada"} == {"reader"}
        assert client.put(f"/api/v1/jobs/{job}/shares/reader", json={"payloads": False}).status_code == 200
        assert OUTPUT not in reader.get(f"/api/v1/jobs/{job}/tables/sinks").text
