"""Real servers on data folders of their own; whatever a test starts is gone when it ends."""

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from bench.server_process import ServerProcess, processes_of, run_command, wait_until


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "data"
    yield folder
    for process in processes_of(folder):
        try:
            os.kill(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    wait_until(lambda: not list(processes_of(folder)), "the end of all processes", 10)


@pytest.fixture
def serve(data: Path) -> Callable[..., ServerProcess]:
    return lambda *options, **environment: ServerProcess(data, *options, environment=environment)


@pytest.fixture
def log_in() -> Iterator[Callable[[ServerProcess], httpx.Client]]:
    """By the link that the server printed, as a person does: look at the page, press its button."""
    clients = []

    def enter(server: ServerProcess) -> httpx.Client:
        client = httpx.Client(base_url=server.address, follow_redirects=True)
        clients.append(client)
        page = client.get("/enter/")
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert token is not None, page.text
        secret = server.link.partition("#")[2]
        answer = client.post("/enter/", data={"csrfmiddlewaretoken": token.group(1), "secret": secret})
        client.headers["X-Answered"] = str(answer.status_code)
        return client

    yield enter
    for client in clients:
        client.close()


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recording")
    out = folder / "recording.tar.zst"
    options = ["--seed", "11", "--events", "2000", "--kill", "map-1.0@500", "--out", str(out)]
    ran = run_command(folder, "record", "pass-through", *options)
    assert ran.status == 0, ran.err
    return out
