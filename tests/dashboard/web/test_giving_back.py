"""A job's bundle can be had again from its page and the API, as it came in; and only by who sees its payloads."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from clonoscope.encryption import decrypt, encrypt
from dashboard import jobs, store
from dashboard.giving_back import CONTAINERS
from dashboard.models import Job, JobShare, PayloadLook
from replay.bundle.reader import open_bundle
from tests.dashboard.web.people import HOST, ask, script
from tests.replay.bundle.made import members, write

pytestmark = pytest.mark.usefixtures("sqlite")

ODD = members() | {"job.json": members()["job.json"].replace(b":", b" : ", 3), "more/ü": b"\0" * 3_000_000}


@pytest.fixture
def owner(settings) -> User:
    settings.ALLOWED_HOSTS = [HOST]
    return User.objects.create_user("ada")


@pytest.fixture
def job(owner: User, tmp_path: Path) -> Job:
    return jobs.create_job_from_file(owner, write("tar.gz", tmp_path / "came.tar.gz", ODD), "a bundle")


def members_of(path: Path) -> dict[str, bytes]:
    with open_bundle(path) as bundle:
        return {name: bundle.members.read(name) for name in bundle.members.names()}


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_gives_back_every_byte(job: Job, owner: User, tmp_path: Path, container: str) -> None:
    answer = ask("GET", f"/api/v1/jobs/{job.id}/bundle?container={container}", script(owner))
    assert answer.status_code == 200 and f"{job.id}.{container}" in answer.headers["Content-Disposition"]
    out = tmp_path / f"out.{container}"
    out.write_bytes(answer.content)
    assert members_of(out) == ODD


def test_who_sees_no_payloads_gets_no_bundle(job: Job, owner: User) -> None:
    reader = User.objects.create_user("reader")
    share = JobShare.objects.create(job=job, user=reader, granted_by=owner, payloads=False)
    address = f"/api/v1/jobs/{job.id}/bundle"
    refused = ask("GET", address, script(reader))
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "payloads-hidden")
    assert not PayloadLook.objects.exists()
    share.payloads = True
    share.save()
    assert ask("GET", address, script(reader)).status_code == 200
    assert [look.user for look in PayloadLook.objects.all()] == [reader]


def test_what_is_gone_or_not_a_container_is_said(job: Job, owner: User) -> None:
    assert ask("GET", f"/api/v1/jobs/{job.id}/bundle?container=rar", script(owner)).status_code == 422
    store.pack_path(job.id).unlink()
    answer = ask("GET", f"/api/v1/jobs/{job.id}/bundle", script(owner))
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no-bundle")


@pytest.mark.parametrize("container", ["zip", "tar", "tar.gz", "tar.zst"])
def test_what_was_encrypted_comes_back_as_it_was_before(owner: User, tmp_path: Path, container: str) -> None:
    pyrage = pytest.importorskip("pyrage")
    identity = pyrage.x25519.Identity.generate()
    keys = tmp_path / "keys.txt"
    keys.write_text(str(identity))
    plain = write(container, tmp_path / f"plain.{container}", ODD)
    locked = encrypt(plain, tmp_path / f"plain.{container}.age", [str(identity.to_public())])
    opened = decrypt(locked, tmp_path / f"opened.{container}", [keys])
    job = jobs.create_job_from_file(owner, opened, "a bundle")
    answer = ask("GET", f"/api/v1/jobs/{job.id}/bundle?container={container}", script(owner))
    (tmp_path / f"back.{container}").write_bytes(answer.content)
    assert members_of(tmp_path / f"back.{container}") == ODD
