"""The whole way where bundles and tables lie in a bucket: upload, ingest, replay, the bundle back, and away again."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.server_process import ROOT
from ingest.lake.places import names_in, place_of
from tests.dashboard.web.server import RealServer
from tests.dashboard.web.test_flow import ingested, watched
from tests.services.s3 import BUCKET

pytestmark = pytest.mark.spark


@pytest.fixture
def server(tmp_path: Path, running_s3: dict[str, str], bucket: None) -> Iterator[RealServer]:
    places = {"STORE_URI": f"s3://{BUCKET}/whole/store", "LAKE_URI": f"s3://{BUCKET}/whole/tables"}
    running = RealServer(tmp_path / "data", environment={**running_s3, **places})
    running.start()
    yield running
    running.stop()


def test_a_job_comes_goes_and_comes_back_with_nothing_of_it_in_a_folder(server: RealServer, tmp_path: Path) -> None:
    store, copies = place_of(f"s3://{BUCKET}/whole/store/bundles"), server.data / "cache" / "bundles"
    command = [sys.executable, "manage.py", "record", "pass-through", "--seed", "7", "--events", "500"]
    command += ["--kill", "map-1.0@100", "--out", str(tmp_path / "b.zip"), "--data", str(tmp_path / "recorder")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    ada = server.people(ada=None)["ada"]
    with server.client(ada) as client:
        job = ingested(server, ada, client, "b.zip", (tmp_path / "b.zip").read_bytes())
        assert job["status"] == "ready" and client.get(f"/api/v1/jobs/{job['id']}/trace").status_code == 200
        assert names_in(store) == [f"{job['id']}.pack"] and server.files("bundles") == server.files("incoming") == []

        (copies / f"{job['id']}.pack").unlink()
        started = client.post(f"/api/v1/jobs/{job['id']}/replays", json={"failure": 0}).json()
        watched(server, ada, f"/ws/replays/{started['id']}/")
        replay = client.get(f"/api/v1/replays/{started['id']}").json()
        assert replay["verdict"] == "identical" and [path.stem for path in copies.iterdir()] == [job["id"]]

        back = client.get(f"/api/v1/jobs/{job['id']}/bundle", params={"container": "zip"})
        with zipfile.ZipFile(io.BytesIO(back.content)) as given, zipfile.ZipFile(tmp_path / "b.zip") as sent:
            assert {one: given.read(one) for one in given.namelist()} == {
                one: sent.read(one) for one in sent.namelist()
            }

        assert client.delete(f"/api/v1/jobs/{job['id']}").status_code == 204
    assert names_in(store) == [] and not list(copies.iterdir())
