"""`manage.py up` as a process: what it prints, whom it refuses, how it ends and what it takes up."""

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect
from websockets.typing import Origin

from bench.server_process import NotInTime, ServerProcess, processes_of, run_command, wait_until

pytestmark = pytest.mark.processes

Serve = Callable[..., ServerProcess]
LogIn = Callable[[ServerProcess], httpx.Client]


def jobs_of(data: Path) -> list[dict]:
    return json.loads(run_command(data, "jobs", "--json").out.splitlines()[-1])["jobs"]


def test_the_login_link_works_once_and_stands_in_no_file(serve: Serve, log_in: LogIn, data: Path) -> None:
    with serve("--no-demo") as server:
        assert httpx.get(server.address + "/healthz").status_code == 200
        assert httpx.get(server.address + "/").status_code == 302
        client = log_in(server)
        assert client.get("/").status_code == 200
        assert log_in(server).headers["X-Answered"] == "403"
    secret = server.link.partition("#")[2].encode()
    assert len(secret) >= 43
    for path in data.rglob("*"):
        assert not path.is_file() or secret not in path.read_bytes(), path


def test_a_second_server_says_where_the_first_is_and_ends(serve: Serve, data: Path) -> None:
    with serve("--no-demo") as server:
        second = run_command(data, "up", "--json")
        assert second.status == 1
        assert server.address in second.err
        assert server.address in json.loads(second.out.splitlines()[-1])["error"]
    assert run_command(data, "jobs").status == 0


def test_a_taken_port_is_said_in_words(serve: Serve, data: Path, tmp_path: Path) -> None:
    with serve("--no-demo") as server:
        port = server.address.rpartition(":")[2]
        other = run_command(tmp_path / "other", "up", "--port", port)
        assert other.status == 1 and "--port" in other.err and "Traceback" not in other.err


def test_login_links_are_made_for_whom_there_is(serve: Serve, data: Path) -> None:
    assert run_command(data, "login-link", "admin").status == 1
    with serve("--no-demo") as server:
        ran = run_command(data, "login-link", "admin", "--json")
        assert json.loads(ran.out.splitlines()[-1])["link"].startswith(server.address)
        assert run_command(data, "login-link", "nobody").status == 1


def test_a_folder_can_be_served_again(serve: Serve) -> None:
    serve("--no-demo").start().end()
    with serve("--no-demo") as server:
        assert httpx.get(server.address + "/login/").status_code == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.spark
def test_a_signal_ends_every_child_within_five_seconds(
    serve: Serve, log_in: LogIn, data: Path, recording: Path, number: int
) -> None:
    server = serve("--no-demo").start()
    client = log_in(server)
    upload(client, recording)
    wait_until(lambda: any(one.kind == "driver" for one in processes_of(data)), "the start of the driver", 30)
    began = time.monotonic()
    assert server.end(number) == 0
    wait_until(lambda: not list(processes_of(data)), "the end of every child", 5)
    assert time.monotonic() - began < 5
    [job] = jobs_of(data)
    assert job["status"] in ("queued", "ready")


@pytest.mark.spark
def test_a_killed_server_leaves_no_child_and_its_work_goes_on_at_the_next_start(
    serve: Serve, log_in: LogIn, data: Path, recording: Path
) -> None:
    server = serve("--no-demo").start()
    upload(log_in(server), recording)
    wait_until(lambda: any(one.kind == "jvm" for one in processes_of(data)), "the start of the JVM", 30)
    server.kill()
    wait_until(lambda: not list(processes_of(data)), "the end of every child", 5)
    with serve("--no-demo"):
        wait_until(lambda: jobs_of(data)[0]["status"] == "ready", "the end of the ingest", 60, every_s=0.5)


@pytest.mark.spark
def test_an_empty_store_gets_a_demo_that_is_replayed(serve: Serve, log_in: LogIn, data: Path) -> None:
    with serve() as server:
        client = log_in(server)

        def replayed() -> bool:
            jobs = client.get("/api/v1/jobs").json()["jobs"]
            return any(replay["status"] == "ready" for job in jobs for replay in replays_of(client, job["id"]))

        wait_until(replayed, "the demo's replay", 90, every_s=0.5)
        [job] = client.get("/api/v1/jobs").json()["jobs"]
        [replay] = replays_of(client, job["id"])
        assert replay["verdict"] == "identical", replay
    with serve() as server:
        assert len(log_in(server).get("/api/v1/jobs").json()["jobs"]) == 1


def replays_of(client: httpx.Client, job_id: str) -> list[dict]:
    return client.get(f"/api/v1/jobs/{job_id}/replays").json()["replays"]


def upload(client: httpx.Client, bundle: Path) -> str:
    with open(bundle, "rb") as file:
        token = client.cookies["clonoscope_csrf"]
        headers = {"X-CSRFToken": token, "Origin": str(client.base_url).rstrip("/")}
        answer = client.post("/api/v1/jobs", files={"bundle": (bundle.name, file)}, headers=headers)
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def test_a_server_that_cannot_start_says_so_in_one_line(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(NotInTime, match="ended with status 1"):
        ServerProcess(blocked / "data").start()
    assert "Traceback" not in run_command(blocked / "data", "jobs").err


def test_a_given_folder_keeps_its_mode_and_what_lies_in_it_is_private(serve: Serve, data: Path) -> None:
    data.mkdir(parents=True)
    data.chmod(0o755)
    serve("--no-demo").start().end()
    assert data.stat().st_mode & 0o777 == 0o755
    made = [path for path in data.rglob("*") if path.is_file() and not path.is_symlink()]
    assert data / "clonoscope.sqlite3" in made
    assert [path for path in made if path.stat().st_mode & 0o077] == []


@pytest.mark.parametrize("kind", ["a file", "no folder at all"])
def test_a_folder_that_cannot_be_is_said_in_words(tmp_path: Path, kind: str) -> None:
    data = tmp_path / "data" if kind == "a file" else Path("/proc/nothing-can-be-made-here")
    if kind == "a file":
        data.write_text("no folder")
    ran = run_command(data, "up", "--port", "0")
    assert ran.status == 1
    assert "cannot be used" in ran.err and "--data" in ran.err and "Traceback" not in ran.err


@pytest.mark.spark
def test_a_watcher_sees_every_status_and_how_far_it_is(serve: Serve, log_in: LogIn, recording: Path) -> None:
    with serve("--no-demo") as server:
        client = log_in(server)
        job_id = upload(client, recording)
        cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        told = []
        with connect(
            f"{server.address.replace('http', 'ws')}/ws/jobs/{job_id}/",
            additional_headers={"Cookie": cookies},
            origin=Origin(server.address),
        ) as socket:
            while not told or told[-1]["status"] in ("queued", "running"):
                told.append(json.loads(socket.recv(timeout=60)))
    assert told[-1]["status"] == "ready"
    assert all(state.keys() == {"status", "phase", "done", "total", "unit", "message"} for state in told)
    assert len({state["phase"] for state in told if state["phase"]}) > 1, told


@pytest.mark.spark
def test_a_job_is_cancelled_at_once_tried_again_and_deleted_without_a_trace(
    serve: Serve, log_in: LogIn, data: Path, recording: Path
) -> None:
    with serve("--no-demo") as server:
        client = log_in(server)
        client.headers.update({"X-CSRFToken": client.cookies["clonoscope_csrf"], "Origin": server.address})
        job_id = upload(client, recording)
        job = f"/api/v1/jobs/{job_id}"
        wait_until(lambda: client.get(job).json()["progress"]["phase"], "the start of the ingest", 60)
        assert client.post(job + "/cancel").json()["status"] == "cancelled"
        assert client.get(job).json()["status"] == "cancelled"
        wait_until(lambda: not list((data / "staging").glob("*")), "the end of the cancelled ingest", 10)
        assert client.get(job).json()["status"] == "cancelled"

        assert client.post(job + "/retry").status_code == 202
        wait_until(lambda: client.get(job).json()["status"] == "ready", "the second ingest", 60)
        assert client.post(job + "/replays", json={"failure": 0}).status_code == 202
        wait_until(lambda: replays_of(client, job_id)[0]["status"] == "ready", "the replay", 60)

        assert client.delete(job).status_code == 204
        assert client.get(job).status_code == 410
    left = [path for folder in ("store", "lake", "staging", "logs/jobs") for path in (data / folder).rglob("*")]
    assert [path for path in left if path.name[:2] in ("j_", "r_")] == []
