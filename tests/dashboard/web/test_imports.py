"""Checkpoints of other engines through a real server: uploaded, ingested, shown; the broken are refused."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.dashboard.web.server import Person, RealServer
from tests.dashboard.web.test_flow import ingested

pytestmark = pytest.mark.spark

# Of a real query: its driver was killed in batch 2, as tests/ingest/importers/streaming_queries.py does it.
CHECKPOINT = Path(__file__).resolve().parents[2] / "recordings" / "checkpoints" / "killed-totals.zip"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    running = RealServer(tmp_path_factory.mktemp("imports") / "data")
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def ada(server: RealServer) -> Person:
    return server.people(ada=None)["ada"]


def repacked(change: Callable[[str, bytes], bytes | None]) -> bytes:
    """The same archive, each member as `change` wants it; without those for which it gives None."""
    out = io.BytesIO()
    with zipfile.ZipFile(CHECKPOINT) as source, zipfile.ZipFile(out, "w") as made:
        for name in source.namelist():
            data = change(name, source.read(name))
            if data is not None:
                made.writestr(name, data)
    return out.getvalue()


def test_a_checkpoint_becomes_a_job_whose_page_says_what_runs_again(server: RealServer, ada: Person) -> None:
    with server.client(ada) as client:
        job = ingested(server, ada, client, "totals.zip", CHECKPOINT.read_bytes())
        assert (job["status"], job["container"], job["rejects"]) == ("ready", "spark-checkpoint", 0)
        replays = client.post(f"/api/v1/jobs/{job['id']}/replays", json={"task": "source-0.0", "attempt": 0})
        assert replays.status_code == 202
    with httpx.Client(base_url=server.url, cookies={"clonoscope_session": ada.session}) as browser:
        page = browser.get(f"/jobs/{job['id']}/").text
        assert "Batch 2 was planned and never committed: it will run again" in page
        assert page.count("will run again</span>") == 1 and page.count(">committed</span>") == 2
        assert "not in a checkpoint: whether a batch that runs again" in page
        assert "changed" in page and "grace" in page
        before = browser.get(f"/jobs/{job['id']}/?batch=0").text
        # Of failures it knows nothing, and there is no code that could be run along it, here or elsewhere.
        assert "Of failures a checkpoint says nothing" in page and "nothing was lost" not in page
        replays = browser.get(f"/jobs/{job['id']}/replays/").text
        assert "clonoscope replay" not in page + replays and "made elsewhere" not in replays
        assert "State after batch 0" in before and "edsger" not in before.partition("state-after")[2]


def test_a_broken_checkpoint_is_refused_and_leaves_nothing(server: RealServer, ada: Person) -> None:
    broken = repacked(lambda name, data: b"v1\n{oops" if name.endswith("/offsets/1") else _without_checksum(name, data))
    with server.client(ada) as client:
        before = server.files("bundles"), server.files("incoming")
        refused = client.post("/api/v1/jobs", files={"bundle": ("totals.zip", broken)})
        assert refused.status_code == 422
        error = refused.json()["error"]
        assert error["code"] == "bad-bundle" and error["detail"]["path"] == "checkpoint/offsets/1"
        assert "the line of the batch is not JSON" in error["message"]
        assert (server.files("bundles"), server.files("incoming")) == before


def _without_checksum(name: str, data: bytes) -> bytes | None:
    return None if name.endswith(".crc") else data


def test_what_only_looks_a_little_like_one_is_no_bundle(server: RealServer, ada: Person) -> None:
    without_id = repacked(lambda name, data: None if name.endswith("/metadata") else data)
    with server.client(ada) as client:
        refused = client.post("/api/v1/jobs", files={"bundle": ("totals.zip", without_id)})
    assert refused.status_code == 422 and refused.json()["error"]["detail"]["path"] == "job.json"
