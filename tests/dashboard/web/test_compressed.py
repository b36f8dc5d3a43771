"""Pages, answers and scripts go out compressed to whoever accepts it; bundles, and what is made on its way, do not."""

import gzip
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard import jobs
from tests.dashboard.web.people import HOST
from tests.replay.bundle.made import members, write

pytestmark = pytest.mark.usefixtures("sqlite")
ACCEPTS = {"HTTP_ACCEPT_ENCODING": "gzip, deflate", "HTTP_HOST": HOST}


@pytest.fixture
def client(settings) -> Client:
    settings.ALLOWED_HOSTS = [HOST]
    signed_in = Client()
    signed_in.force_login(User.objects.create_user("ada"))
    return signed_in


@pytest.mark.parametrize("path", ["/", "/static/js/vendor/d3.min.js", "/api/openapi.json"])
def test_text_is_compressed_for_who_accepts_it(client: Client, path: str) -> None:
    answer = client.get(path, **ACCEPTS)
    assert (answer.status_code, answer.headers.get("Content-Encoding")) == (200, "gzip")
    packed = answer.content
    assert len(packed) < len(gzip.decompress(packed)) / 2
    assert "Content-Encoding" not in client.get(path, HTTP_HOST=HOST).headers


def test_a_bundle_goes_out_as_it_is(client: Client, tmp_path: Path) -> None:
    owner = User.objects.get(username="ada")
    job = jobs.create_job_from_file(owner, write("tar.gz", tmp_path / "came.tar.gz", members()), "a bundle")
    answer = client.get(f"/api/v1/jobs/{job.id}/bundle?container=zip", **ACCEPTS)
    assert answer.status_code == 200 and "Content-Encoding" not in answer.headers
