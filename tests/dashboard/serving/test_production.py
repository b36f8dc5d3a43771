"""Where one machine is outgrown: PostgreSQL and Redis by environment variables alone, with a worker of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from bench.server_process import ROOT, ServerProcess, begin_command, processes_of, run_command, wait_until

MAKE_TOKEN = "from dashboard import accounts; from dashboard.people import tokens; " + (
    "print(tokens.issue(accounts.first_account(), 'test')[1])"
)
SECRET_KEY = "a-test's-secret-of-more-than-fifty-different-characters-0123456789"
pytestmark = pytest.mark.processes


def manage(data: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    unset = ("SECRET_KEY", "DATABASE_URL", "REDIS_URL", "CLONOSCOPE_MODE")
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**inherited, "CLONOSCOPE_DATA": str(data), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    "environment",
    [{"CLONOSCOPE_MODE": "production"}, {"DATABASE_URL": "postgresql://u@h/d"}, {"REDIS_URL": "redis://h/0"}],
    ids=lambda environment: next(iter(environment)),
)
def test_production_does_not_start_without_a_secret_key(data: Path, environment: dict[str, str]) -> None:
    ran = manage(data, "up", **environment)
    assert ran.returncode != 0
    assert "SECRET_KEY" in ran.stderr.splitlines()[-1]
    assert not data.exists()


def test_the_deployment_check_is_clean_in_production(data: Path) -> None:
    ran = manage(data, "check", "--deploy", "--fail-level", "INFO", CLONOSCOPE_MODE="production", SECRET_KEY=SECRET_KEY)
    assert ran.returncode == 0, ran.stderr
    assert "no issues" in ran.stdout


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "mysql://h/d"),
        ("STORE_URI", "s3:///store"),
        ("CLONOSCOPE_BUNDLE_CACHE_BYTES", "0"),
        ("LAKE_URI", "s3:///lake"),
        ("LAKE_URI", "gs://bucket/lake"),
        ("SPARK_MASTER", "spark:head"),
        ("SPARK_MASTER", "spark://head:7077"),  # without folders that its machines share
        ("CLONOSCOPE_LEASE_S", "soon"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_named(data: Path, name: str, value: str) -> None:
    ran = manage(data, "jobs", **{name: value, "SECRET_KEY": SECRET_KEY})
    assert ran.returncode == 1
    assert name in ran.stderr and "Traceback" not in ran.stderr


@pytest.fixture
def production(tmp_path: Path, postgres_url: str, redis_url: str) -> dict[str, str]:
    return {
        "STORE_URI": str(tmp_path / "shared" / "store"),
        "LAKE_URI": f"file://{tmp_path}/shared",
        "DATABASE_URL": postgres_url,
        "REDIS_URL": redis_url,
        "SECRET_KEY": SECRET_KEY,
        # The test speaks to the server without the proxy that would end TLS.
        "CLONOSCOPE_TLS": "0",
    }


StartWorker = Callable[[], subprocess.Popen[bytes]]


@pytest.fixture
def start_worker(data: Path, production: dict[str, str]) -> Iterator[StartWorker]:
    """As an operator starts one: a process of its own, told by environment variables alone."""
    data.mkdir()
    environment = {**os.environ, **production, "CLONOSCOPE_DATA": str(data)}
    command = [sys.executable, "-m", "celery", "-A", "dashboard", "worker", "--loglevel", "INFO"]
    started = []

    def start() -> subprocess.Popen[bytes]:
        with open(data / "worker.log", "ab") as log:
            started.append(
                subprocess.Popen(
                    command,
                    cwd=ROOT,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.services
@pytest.mark.spark
def test_a_worker_of_its_own_ingests_and_replays(
    data: Path, tmp_path: Path, production: dict[str, str], start_worker: StartWorker, recording: Path
) -> None:
    worker = start_worker()
    with ServerProcess(data, environment=production) as server:
        assert server.link == "", "a login link was printed in production mode"
        health = httpx.get(server.address + "/healthz")
        assert health.status_code == 200, health.text
        assert not any(one.kind == "driver" for one in processes_of(data))
        ran = run_command(data, "ingest", str(recording), "--json", environment=production)
        assert ran.status == 0, ran.err + (data / "worker.log").read_text()
        job = json.loads(ran.out.splitlines()[-1])["job"]
        drivers = [one for one in processes_of(data) if one.kind == "driver"]
        assert [one.parent for one in drivers] == [worker.pid]
        ran = run_command(data, "replay", job, "--json", environment=production)
        assert ran.status == 0, ran.err + (data / "worker.log").read_text()
        assert json.loads(ran.out.splitlines()[-1])["verdict"] == "identical"
        assert (tmp_path / "shared" / "lake" / job).is_symlink() and not (data / "lake").exists()
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(5) == 0
        wait_until(lambda: {one.kind for one in processes_of(data)} == {"web"}, "the end of the worker's children", 5)


@pytest.mark.services
@pytest.mark.spark
def test_watchers_hear_of_the_work_of_another_process(
    data: Path, production: dict[str, str], start_worker: StartWorker, recording: Path
) -> None:
    start_worker()
    with ServerProcess(data, environment=production) as server:
        made = manage(data, "shell", "--no-imports", "-c", MAKE_TOKEN, **production)
        headers = {"Authorization": f"Bearer {made.stdout.split()[-1]}"}
        with open(recording, "rb") as file:
            bundle = {"bundle": (recording.name, file)}
            job = httpx.post(server.address + "/api/v1/jobs", files=bundle, headers=headers).json()["id"]
        told = []
        address = f"{server.address.replace('http', 'ws')}/ws/jobs/{job}/"
        with connect(address, additional_headers=headers) as socket:
            while not told or told[-1]["status"] in ("queued", "running"):
                told.append(json.loads(socket.recv(timeout=90)))
        assert told[-1]["status"] == "ready" and any(state["phase"] for state in told), told


@pytest.mark.services
@pytest.mark.spark
def test_what_a_killed_worker_held_goes_on_with_the_next(
    data: Path, production: dict[str, str], start_worker: StartWorker, recording: Path
) -> None:
    first = start_worker()
    with ServerProcess(data, environment=production) as server:
        asked = begin_command(data, "ingest", str(recording), "--json", environment=production)
        wait_until(lambda: any(one.kind == "jvm" for one in processes_of(data)), "the start of the JVM", 60)
        first.kill()
        first.wait()
        assert server.process is not None and server.process.poll() is None
        start_worker()
        out, err = asked.communicate(timeout=100)
        assert asked.returncode == 0, err
        assert json.loads(out.splitlines()[-1])["status"] == "ready"
