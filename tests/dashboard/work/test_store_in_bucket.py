"""Bundles in a bucket behind a real server that speaks S3: a job is there when its object is whole, and not before."""

import os
import signal
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from bench.without_spark import ingest_here
from dashboard import backup, bundles, copies, doctor, jobs, store
from dashboard.management.commands.export import export
from dashboard.models import Job, Replay, Status, Work
from dashboard.queries.graph import job_graph
from dashboard.stored import damages
from dashboard.work import leftovers, supervise_replay
from dashboard.work.service import WorkService
from ingest.lake import places
from ingest.lake.errors import OutOfReach
from ingest.lake.places import InBucket, names_in, place_of, put
from ingest.lake.publish import publish
from ingest.lake.schema import SCHEMA_VERSION
from replay.bundle.pack import Pack
from replay.errors import BundleError
from tests.dashboard.work.conftest import write_bundle
from tests.ingest.made import random_recording
from tests.services.processes import free_port

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.usefixtures("sqlite")


@pytest.fixture
def made(tmp_path: Path) -> Path:
    random_recording(3).pack(tmp_path / "made")
    return tmp_path / "made" / "made.tar"


@pytest.fixture
def job(owner: User, store_in_bucket: InBucket, made: Path) -> Job:
    return jobs.create_job_from_file(owner, made, "made")


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> "Silence":
    return Silence(monkeypatch)


class Silence:
    """A server that takes no connection, until it does again."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch

    def __enter__(self) -> None:
        self.context = self.monkeypatch.context()
        away = self.context.__enter__()
        away.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
        away.setattr(places, "bucket_files", places.bucket_files.__wrapped__)

    def __exit__(self, *fault: object) -> None:
        self.context.__exit__(None, None, None)


def objects(store_in_bucket: InBucket) -> list[str]:
    return names_in(store_in_bucket / "bundles")


def local() -> list[str]:
    folders = (store.bundles(), store.incoming(), copies.folder())
    return sorted(path.name for folder in folders if folder.is_dir() for path in folder.iterdir())


def ready(job: Job, data: Path) -> Job:
    told = ingest_here(job.id, bundles.address(job.id), data / "staging" / "1-1")
    publish(data, data / "staging" / "1-1", job.id, "1", 1)
    Work.objects.update(state=Work.State.DONE)
    Job.objects.filter(id=job.id).update(status=Status.READY, schema_version=SCHEMA_VERSION, facts=told["facts"])
    return Job.objects.get(id=job.id)


def test_what_is_uploaded_is_an_object_and_comes_back_as_it_was(
    job: Job, store_in_bucket: InBucket, made: Path, tmp_path: Path
):
    name = f"{job.id}.pack"
    assert objects(store_in_bucket) == [name] and local() == [name] and copies.copy_path(job.id).exists()
    copies.remove(job.id)
    call_command("export", job.id, out=tmp_path / "out")
    with closing(Pack(made.with_name("made.pack"))) as before:
        assert {one: (tmp_path / "out" / one).read_bytes() for one in before.names()} == {
            one: before.read(one) for one in before.names()
        }
    assert local() == [name]
    jobs.delete_job(job, job.owner)
    assert objects(store_in_bucket) == [] and local() == []


def test_what_is_there_is_sent_once(job: Job, store_in_bucket: InBucket, made: Path):
    again = jobs.create_job_from_file(job.owner, made, "again")
    assert again.id == job.id and objects(store_in_bucket) == local() == [f"{job.id}.pack"]


def test_what_is_refused_leaves_no_object(owner: User, store_in_bucket: InBucket, tmp_path: Path):
    (tmp_path / "letter.zip").write_bytes(b"no bundle")
    with pytest.raises(BundleError):
        jobs.create_job_from_file(owner, tmp_path / "letter.zip", "letter")

    def refuse() -> None:
        raise jobs.Refused("late")

    with pytest.raises(jobs.Refused):
        jobs.create_job_from_file(owner, write_bundle(tmp_path / "tiny"), "tiny", together_with=refuse)
    assert objects(store_in_bucket) == local() == [] and not Job.objects.exists()


UPLOAD = """
import os, signal, sys
import django
django.setup()
from django.contrib.auth.models import User
from pathlib import Path
from dashboard import jobs
from ingest.lake import places
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
def some(file, place):
    out = places.bucket_files().open_output_stream(place.key)
    out.write(file.read(6 << 20))
    die()
if sys.argv[2] == "halfway":
    places._send = some
jobs.create_job_from_file(User.objects.get(), Path(sys.argv[1]), "killed", together_with=die)
"""


@pytest.mark.parametrize(("when", "sent"), [("halfway", 0), ("before its row", 1)])
def test_a_killed_upload_publishes_nothing_and_is_swept(
    owner: User, store_in_bucket: InBucket, data: Path, tmp_path: Path, when: str, sent: int
):
    with zipfile.ZipFile(tmp_path / "large.zip", "w") as archive:
        archive.write(write_bundle(tmp_path / "tiny") / "job.json", "job.json")
        archive.writestr("notes", os.urandom(12 << 20))
    own = {
        "CLONOSCOPE_DATA": str(data),
        "STORE_URI": str(store_in_bucket),
        "DJANGO_SETTINGS_MODULE": "dashboard.settings",
    }
    command = [sys.executable, "-c", UPLOAD, str(tmp_path / "large.zip"), when]
    killed = subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, capture_output=True, check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert len(objects(store_in_bucket)) == sent and len(local()) == 2 and not Job.objects.exists()
    told = [str(one) for one in damages(checksums=False, mend=False)]
    assert len(told) == 2 + sent and all("belongs to nothing" in one for one in told)
    leftovers.remove()
    assert objects(store_in_bucket) == local() == []


def test_what_is_entering_or_not_ours_is_not_swept(store_in_bucket: InBucket):
    names = [f"j_{'0' * 12}.pack", f"j_{'1' * 12}.pack", "notes.txt"]
    for name in names:
        put(store_in_bucket / "bundles" / name, b"x")
    with store.entering("j_" + "0" * 12):
        leftovers.remove()
        assert objects(store_in_bucket) == [names[0], names[2]]
    leftovers.remove()
    assert objects(store_in_bucket) == names[2:]


def test_a_silent_server_is_no_missing_object(
    job: Job, store_in_bucket: InBucket, data: Path, made: Path, silent: Silence, monkeypatch
):
    ready(job, data)
    copies.remove(job.id)
    put(store_in_bucket / "bundles" / f"j_{'1' * 12}.pack", b"x")
    visitor = Client()
    visitor.force_login(job.owner)
    with silent:
        with pytest.raises(OutOfReach):
            jobs.create_job_from_file(job.owner, write_bundle(data / "other"), "other")
        assert local() == [] and Job.objects.count() == 1
        page = visitor.get(f"/jobs/{job.id}/", headers={"accept": "text/html"})
        assert page.status_code == 503 and b"The store can&#x27;t be reached" in page.content
        assert visitor.get("/healthz").json()["store"] == "failing"
        with pytest.raises(OutOfReach):
            list(damages(checksums=False, mend=True))
        assert leftovers.remove() == []
        replay = replayed(job)
        assert replay.status == Status.FAILED and "can't be reached" in replay.message
    assert len(objects(store_in_bucket)) == 2 and visitor.get("/healthz").json()["store"] == "ok"
    assert visitor.get(f"/jobs/{job.id}/").status_code == 200
    (store_in_bucket / "bundles" / f"{job.id}.pack").unlink()
    assert job_graph(job.id) is None
    assert visitor.get(f"/api/v1/jobs/{job.id}/bundle").json()["error"]["code"] == "no-bundle"
    assert "is missing" in next(str(one) for one in damages(checksums=False, mend=False))
    again = replayed(job)
    assert again.status == Status.FAILED and "no longer in the store" in again.message


def replayed(job: Job) -> Replay:
    row = Replay.objects.create(job=job, owner=job.owner, task="map-1.0", attempt=0)
    work = Work.objects.create(kind=Work.Kind.REPLAY, target=row.id)
    WorkService().run_only(work.id)
    return Replay.objects.get(id=row.id)


def test_a_replay_reads_a_copy_that_it_holds(job: Job, data: Path, monkeypatch: pytest.MonkeyPatch):
    ready(job, data)
    copies.remove(job.id)
    before, given = supervise_replay.run_replay, []

    def watched(request, *rest, **named):
        given.append(request.pack)
        assert not copies._let_go(request.pack)
        return before(request, *rest, **named)

    monkeypatch.setattr(supervise_replay, "run_replay", watched)
    replay = replayed(job)
    assert replay.status == Status.READY, replay.message
    assert given == [copies.copy_path(job.id)] and copies._let_go(given[0])


def test_an_object_that_changed_is_not_taken_for_the_bundle(job: Job, store_in_bucket: InBucket, data: Path):
    ready(job, data)
    assert list(damages(checksums=True, mend=False)) == []
    place = store_in_bucket / "bundles" / f"{job.id}.pack"
    whole = bytearray(place.read_bytes())
    with closing(Pack(copies.copy_path(job.id))) as pack:
        offset, _ = pack.extent("events.ndjson")
    copies.remove(job.id)
    whole[offset] ^= 1
    put(place, bytes(whole))
    with pytest.raises(BundleError, match=r"events\.ndjson has another checksum"), bundles.bundle(job.id):
        pass
    assert local() == []
    assert "events.ndjson has another checksum" in str(next(damages(checksums=True, mend=False)))
    assert list(damages(checksums=False, mend=False)) == []


def test_a_backup_holds_the_objects_and_is_restored_into_another_bucket(
    job: Job, store_in_bucket: InBucket, data: Path, tmp_path: Path, settings
):
    copies.remove(job.id)
    whole = (store_in_bucket / "bundles" / f"{job.id}.pack").read_bytes()
    settings.DATABASES["default"]["NAME"] = str(data / "clonoscope.sqlite3")
    assert backup.back_up(tmp_path / "kept.tar") == 1
    own = {
        "CLONOSCOPE_DATA": str(tmp_path / "new"),
        "STORE_URI": f"{store_in_bucket}-other",
        "DJANGO_SETTINGS_MODULE": "dashboard.settings",
    }
    command = [sys.executable, "manage.py", "restore", str(tmp_path / "kept.tar")]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    other = place_of(f"{store_in_bucket}-other")
    assert (other / "bundles" / f"{job.id}.pack").read_bytes() == whole
    assert not list((tmp_path / "new" / "store" / "bundles").iterdir())


def test_the_doctor_tries_the_bucket(store_in_bucket: InBucket):
    found = {one.name: one for one in doctor.findings()}
    assert found["store"].good and found["store"].detail == str(store_in_bucket) and names_in(store_in_bucket) == []


def test_pages_look_at_a_bundle_without_copying_it(job: Job, data: Path, tmp_path: Path):
    ready(job, data)
    copies.remove(job.id)
    visitor = Client()
    visitor.force_login(job.owner)
    for page in ("", "logs/", "replays/"):
        assert visitor.get(f"/jobs/{job.id}/{page}").status_code == 200, page
    assert local() == []
    with bundles.bundle(job.id) as path:
        assert export(path, tmp_path / "out.zip") > 20 and local() == [path.name]
