"""The whole way through a real server's API: upload, ingest, tables, causal path, replay, steps, and away again."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from bench.server_process import ROOT
from replay.log.codec import encode
from replay.log.determinants import Timestamp
from tests.dashboard.web import bundles
from tests.dashboard.web.server import Person, RealServer
from tests.ingest.made import manifest_of
from tests.vector_rows import members_and_rows

pytestmark = pytest.mark.spark
WAIT_S = 120


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    running = RealServer(tmp_path_factory.mktemp("flow") / "data")
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def ada(server: RealServer) -> Person:
    return server.people(ada=None)["ada"]


@pytest.fixture(scope="module")
def client(server: RealServer, ada: Person) -> Iterator[httpx.Client]:
    with server.client(ada) as client:
        yield client


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("recording")
    command = [sys.executable, "manage.py", "record", "pass-through", "--seed", "7", "--events", "2000"]
    command += ["--checkpoint-interval-ms", "200", "--kill", "map-1.0@500", "--out", str(folder / "b.tar.gz")]
    subprocess.run([*command, "--data", str(folder / "data")], cwd=ROOT, check=True, capture_output=True)
    return (folder / "b.tar.gz").read_bytes()


@pytest.fixture(scope="module")
def job(server: RealServer, ada: Person, client: httpx.Client, recording: bytes) -> dict[str, Any]:
    return ingested(server, ada, client, "recorded.tar.gz", recording)


@pytest.fixture(scope="module")
def replay(server: RealServer, ada: Person, client: httpx.Client, job: dict[str, Any]) -> dict[str, Any]:
    started = client.post(f"/api/v1/jobs/{job['id']}/replays", json={"failure": 0})
    assert started.status_code == 202, started.text
    watched(server, ada, f"/ws/replays/{started.json()['id']}/")
    return dict(client.get(f"/api/v1/replays/{started.json()['id']}").json())


def ingested(server: RealServer, ada: Person, client: httpx.Client, name: str, data: bytes) -> dict[str, Any]:
    answer = client.post("/api/v1/jobs", files={"bundle": (name, data)})
    assert answer.status_code == 202, answer.text
    watched(server, ada, f"/ws/jobs/{answer.json()['id']}/")
    return dict(client.get(f"/api/v1/jobs/{answer.json()['id']}").json())


def watched(server: RealServer, ada: Person, path: str) -> list[dict[str, Any]]:
    """What the socket says, up to the end of the work."""
    said: list[dict[str, Any]] = []
    url = server.url.replace("http://", "ws://") + path
    with connect(url, additional_headers=ada.bearer, open_timeout=20) as socket:
        while not said or said[-1]["status"] in ("queued", "running"):
            said.append(json.loads(socket.recv(timeout=WAIT_S)))
    return said


def test_the_job_says_what_is_in_it(client: httpx.Client, job: dict[str, Any]) -> None:
    assert (job["status"], job["message"], job["rejects"]) == ("ready", "", 0)
    assert [failure["task"] for failure in job["facts"]["failures"]] == ["map-1.0"]
    assert job["id"] in [row["id"] for row in client.get("/api/v1/jobs").json()["jobs"]]


def test_all_tables_can_be_read_to_their_end(client: httpx.Client, job: dict[str, Any]) -> None:
    for table, rows in job["facts"]["rows"].items():
        found, cursor = 0, ""
        while cursor is not None:
            page = client.get(f"/api/v1/jobs/{job['id']}/tables/{table}", params={"cursor": cursor, "limit": 1000})
            assert page.status_code == 200, page.text
            found, cursor = found + len(page.json()["rows"]), page.json()["cursor"]
        assert found == rows, table
    unknown = client.get(f"/api/v1/jobs/{job['id']}/tables/nothing")
    assert unknown.status_code == 404 and unknown.json()["error"]["code"] == "unknown-table"


def test_every_determinant_vector_goes_through_upload_into_the_lake(
    server: RealServer, ada: Person, client: httpx.Client
) -> None:
    members, expected = members_and_rows()
    bundle = bundles.zipped({"job.json": json.dumps(manifest_of(1)).encode(), **members})
    vectors = ingested(server, ada, client, "vectors.zip", bundle)
    assert (vectors["status"], vectors["rejects"]) == ("ready", 0)
    found: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        # A page smaller than the whole, so that the way from page to page is gone as well.
        address = f"/api/v1/jobs/{vectors['id']}/tables/determinants"
        page = client.get(address, params={"cursor": cursor, "limit": 50}).json()
        rows = [dict(zip(page["columns"], row, strict=True)) for row in page["rows"]]
        assert {(row.pop("task"), row.pop("attempt"), row.pop("thread")) for row in rows} == {("map-1.0", 0, "main")}
        found += [{name: value for name, value in row.items() if value is not None} for row in rows]
        cursor = page["cursor"]
    shown = [{name: v.hex() if isinstance(v, bytes) else v for name, v in row.items()} for row in expected]
    assert found == shown


def test_a_recording_is_told_as_a_trace(client: httpx.Client, job: dict[str, Any]) -> None:
    told = client.get(f"/api/v1/jobs/{job['id']}/trace").raise_for_status()
    assert "trace.json" in told.headers["Content-Disposition"]
    events = told.json()["traceEvents"]
    sent = client.get(f"/api/v1/jobs/{job['id']}/tables/sendings", params={"limit": 1000}).json()
    assert len(sent["rows"]) > 100 and sent["cursor"] is None
    assert sum("sending" in one.get("args", {}) for one in events) == len(sent["rows"])


def test_the_causal_path_is_worked_out_once(client: httpx.Client, job: dict[str, Any]) -> None:
    address = f"/api/v1/jobs/{job['id']}/paths/map-1.0"
    first, again = client.get(address), client.get(address)
    assert first.status_code == 200, first.text
    assert first.json() == again.json() and first.json()["holders"]
    assert client.get(f"/api/v1/jobs/{job['id']}/paths/nobody.0").status_code == 404
    assert client.get(address, params={"attempt": 99}).status_code == 404
    shared = client.get(f"{address}/sharing")
    assert shared.status_code == 200 and shared.json()["hops"] and shared.json()["check"]["unlike"] == 0, shared.text
    for rows in ("hops", "channels", "depths"):
        answer = client.get(f"{address}/sharing", params={"format": "csv", "rows": rows})
        lines = list(csv.DictReader(answer.text.splitlines()))
        assert answer.headers["content-type"] == "text/csv; charset=utf-8" and len(lines) == len(shared.json()[rows])
        assert [line["bytes"] for line in lines] == [str(one["bytes"]) for one in shared.json()[rows]]
    assert client.get(f"{address}/sharing", params={"format": "xml"}).status_code == 422
    assert client.get(f"{address}/sharing", params={"attempt": 99}).json()["error"]["code"] == "no-sharing"


def test_a_replay_is_identical_and_its_steps_lead_back_to_the_recording(
    client: httpx.Client, replay: dict[str, Any]
) -> None:
    assert (replay["status"], replay["verdict"]) == ("ready", "identical"), replay
    address = f"/api/v1/replays/{replay['id']}"
    page = client.get(f"{address}/steps", params={"from": 0, "to": 1000}).json()
    assert page["written"] == replay["steps"]
    assert [row["step"] for row in page["steps"]] == list(range(min(1000, replay["steps"])))
    for step in range(0, replay["steps"], max(1, replay["steps"] // 20)):
        said = client.get(f"{address}/why", params={"step": step, "depth": 50}).json()
        missing = [cause["ref"] for cause in said["causes"] if cause["kind"] == "missing"]
        assert missing == [], f"step {step}"
        for link in said["links"][:5]:
            if link["cause"].startswith("step:"):
                number = int(link["cause"][5:])
                effects = client.get(f"{address}/effects", params={"step": number}).json()
                assert link["effect"] in {f"step:{row['step']}" for row in effects["steps"]} or effects["left_out"]


def test_the_state_grows_to_what_the_last_step_shows(client: httpx.Client, replay: dict[str, Any]) -> None:
    address = f"/api/v1/replays/{replay['id']}"
    last = client.get(f"{address}/state", params={"step": replay["steps"] - 1, "limit": 1000}).json()
    assert last["entries"] and all(entry["step"] < replay["steps"] for entry in last["entries"])
    some = client.get(f"{address}/state", params={"step": replay["steps"] - 1, "prefix": last["entries"][0]["key"]})
    assert some.json()["entries"][0] == last["entries"][0]
    beyond = client.get(f"{address}/state", params={"step": replay["steps"]})
    assert beyond.status_code == 404 and beyond.json()["error"]["code"] == "no-such-step"


def test_a_step_is_found(client: httpx.Client, replay: dict[str, Any]) -> None:
    asked = {"after": -1, "where": json.dumps({"kind": "cut-buffer"})}
    found = client.get(f"/api/v1/replays/{replay['id']}/find", params=asked).json()["step"]
    assert found["kind"] == "cut-buffer"
    asked = {"before": found["step"], "where": json.dumps({"kind": "cut-buffer"})}
    assert client.get(f"/api/v1/replays/{replay['id']}/find", params=asked).json()["step"] is None
    wrong = client.get(f"/api/v1/replays/{replay['id']}/find", params={"after": 0, "where": "{"})
    assert wrong.status_code == 422
    assert client.get(f"/api/v1/replays/{replay['id']}/find").status_code == 422


def test_all_hits_are_told_line_by_line(client: httpx.Client, replay: dict[str, Any]) -> None:
    address = f"/api/v1/replays/{replay['id']}"
    sentence = "determinant = buffer-built preceded by kind = write-record"
    answer = client.get(f"{address}/hits", params={"where": sentence, "bins": 50})
    assert answer.status_code == 200 and answer.headers["Content-Type"] == "application/x-ndjson"
    *pieces, end = (json.loads(line) for line in answer.text.splitlines())
    rows = [row for page in range(0, replay["steps"], 1000)
            for row in client.get(f"{address}/steps", params={"from": page}).json()["steps"]]  # fmt: skip
    first = next(row["step"] for row in rows if row["kind"] == "write-record")
    takes = [row for row in rows if row["kind"] == "take-determinant" and row["actor"].startswith("out-")]
    wanted = [row["step"] for row in takes if row["step"] > first]
    assert (end["hits"], end["steps"], end["complete"]) == (len(wanted), replay["steps"], True)
    assert sum(one[1] for piece in pieces for one in piece["bins"]) == len(wanted) > 0
    wrong = client.get(f"{address}/hits", params={"where": "knid = x"})
    assert wrong.status_code == 422 and wrong.json()["error"]["detail"]["column"] == 1


def test_a_question_in_sql_is_answered_in_pages_and_files(
    client: httpx.Client, job: dict[str, Any], replay: dict[str, Any]
) -> None:
    address = f"/api/v1/jobs/{job['id']}/sql"
    sql = "SELECT task, count(*) AS determinants FROM determinants GROUP BY task ORDER BY task"
    answer = client.post(address, json={"sql": sql})
    assert answer.status_code == 200, answer.text
    page = answer.json()
    assert page["columns"] == ["task", "determinants"] and not page["more"]
    assert sum(row[1] for row in page["rows"]) == job["facts"]["determinants"]
    second = client.post(address, params={"skip": 1, "limit": 1}, json={"sql": sql, "order": 1, "descending": True})
    assert second.json()["rows"] == [page["rows"][-2]] and second.json()["more"]
    steps = client.post(address, json={"sql": f"SELECT count(*) FROM replay_{replay['id']}.steps"})
    assert steps.json()["rows"] == [[replay["steps"]]]
    file = client.post(f"{address}/csv", json={"sql": sql})
    assert file.headers["content-type"].startswith("text/csv") and file.headers["x-rows"] == str(len(page["rows"]))
    assert file.text.splitlines()[1:] == [f'"{task}","{count}"' for task, count in page["rows"]]
    for wrong in ("COPY events TO '/tmp/x'", "SELECT * FROM read_text('/etc/passwd')", "SELECT nothing", " "):
        refused = client.post(address, json={"sql": wrong})
        assert refused.status_code == 422 and "passwd" not in refused.json()["error"]["message"], refused.text


def test_what_cannot_be_replayed_is_said(client: httpx.Client, job: dict[str, Any]) -> None:
    for asked in ({}, {"failure": 7}, {"failure": 0, "attempt": 0}, {"attempt": 0}):
        answer = client.post(f"/api/v1/jobs/{job['id']}/replays", json=asked)
        assert answer.status_code == 409 and len(answer.json()["error"]["message"]) > 20, asked


FAULTS: dict[str, tuple[dict[str, bytes], str, int | None]] = {
    "an unknown tag": (
        {"tasks/source.0/0/main/0.det": encode(Timestamp(1)) + b"\x63"},
        "tasks/source.0/0/main/0.det",
        9,
    ),
    "a determinant cut short": (
        {"tasks/source.0/0/main/0.det": encode(Timestamp(1)) + encode(Timestamp(2))[:4]},
        "tasks/source.0/0/main/0.det",
        9,
    ),
    "a task that the manifest does not know": (
        {"tasks/nobody.0/0/main/0.det": encode(Timestamp(1))},
        "tasks/nobody.0/0/main/0.det",
        None,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_inside_a_member_is_kept_up_to_it_and_told(
    server: RealServer, ada: Person, client: httpx.Client, fault: str
) -> None:
    members, path, offset = FAULTS[fault]
    data = bundles.zipped({"job.json": bundles.named(fault), **members})
    made = ingested(server, ada, client, f"{fault}.zip", data)
    assert made["status"] == "ready-partial" and made["rejects"] == 1, made
    page = client.get(f"/api/v1/jobs/{made['id']}/tables/rejects").json()
    row = dict(zip(page["columns"], page["rows"][0], strict=True))
    assert row["path"] == path and row["why"]
    if offset is not None:
        assert row["offset"] == offset
        kept = client.get(f"/api/v1/jobs/{made['id']}/tables/determinants").json()
        assert [found[kept["columns"].index("kind")] for found in kept["rows"]] == ["timestamp"]


def test_a_deleted_job_leaves_nothing(server: RealServer, ada: Person, client: httpx.Client, tmp_path: Path) -> None:
    made = ingested(server, ada, client, "short.tar", _tar(bundles.named("to be deleted")))
    client.get(f"/api/v1/jobs/{made['id']}/paths/source.0")
    assert client.delete(f"/api/v1/jobs/{made['id']}").status_code == 204
    left = [path for path in server.data.rglob(f"{made['id']}*") if "driver" not in path.name]
    assert left == []


def _tar(manifest: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo("job.json")
        member.size = len(manifest)
        archive.addfile(member, io.BytesIO(manifest))
    return out.getvalue()
