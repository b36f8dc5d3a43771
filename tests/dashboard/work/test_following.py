"""Jobs that grow: their versions, the switch, how following ends, and going on after a kill."""

from __future__ import annotations

import random
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from bench.growing import Growth
from bench.server_process import wait_until
from dashboard import audits, bundles, copies, folder, following, jobs, store
from dashboard.following import Following
from dashboard.management import followed as command
from dashboard.models import Job, Quota, Work
from dashboard.stored import damages
from dashboard.work import follow as work_follow
from dashboard.work import leftovers, supervise_audit
from dashboard.work.claim import claim
from dashboard.work.follow import COMPLETE, follow
from dashboard.work.owner import this_process
from dashboard.work.service import WorkService
from ingest.lake import sending
from ingest.lake.manifest import LakeManifest
from ingest.lake.places import InBucket, names_in
from ingest.lake.publish import published_folder
from ingest.lake.readers import Lake
from ingest.lake.schema import LAKE_TABLES
from ingest.launch import DriverDied, IngestRequest, IngestResult
from replay.bundle.pack import Pack, is_growing
from replay.errors import BundleError
from tests.ingest.inprocess import ingested_here, rows_of, version_here
from tests.ingest.made import random_recording
from tests.services.s3 import BUCKET

DEAD = this_process().rpartition("/")[0] + "/1"
"""Who had the same number as this process, and began before it."""


class DriverHere:
    """Does what the Spark driver does, in this process; at first it dies as often as is said."""

    deaths = 0

    def get(self) -> DriverHere:
        return self

    def ingest(self, request: IngestRequest, tell, cancelled) -> IngestResult:
        assert request.growing
        if self.deaths:
            self.deaths -= 1
            raise DriverDied("The driver died.")
        made = version_here(request.job, request.pack, request.before, Path(request.staging), segment_bytes=1)
        return IngestResult(made["status"], made["rejects"], made["facts"])

    def stop(self) -> None:
        pass


@pytest.fixture
def service() -> WorkService:
    made = WorkService()
    made.driver = DriverHere()  # type: ignore[assignment]
    return made


@pytest.fixture(autouse=True)
def looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (following, work_follow):
        monkeypatch.setattr(module, "LOOK_S", 0.0)
    monkeypatch.setattr(work_follow, "MOST_WAIT_S", 0.0)


@pytest.fixture
def growth(tmp_path: Path) -> Growth:
    made = random_recording(3, epochs=4, buffers=3)
    growth = Growth(made.manifest, made.members, tmp_path / "growing", random.Random(3), epochwise=True)
    growth.grow(0.4)
    return growth


@pytest.fixture
def begun(sqlite: str, owner: User, growth: Growth) -> Iterator[tuple[Job, Following]]:
    with following.beginning(owner, growth.folder, threading.Event()) as found:
        assert found is not None
        yield found


def seen_to(service: WorkService, then: Callable[[int], None]) -> Callable[[int], None]:
    """Makes a version, and does something after it, with how many there were."""
    made: list[int] = []

    def see_to(work_id: int) -> None:
        service.run_only(work_id)
        made.append(work_id)
        then(len(made))

    return see_to


def test_a_job_grows_with_its_folder_until_that_is_complete(
    begun: tuple[Job, Following], growth: Growth, service: WorkService
) -> None:
    job, one = begun
    said, complete = list[tuple[str, int]](), threading.Event()

    def then(_: int) -> None:
        job.refresh_from_db()
        said.append((job.status, job.facts["determinants"]))
        assert Work.objects.filter(target=job.id).count() == 1
        if growth.left:
            growth.grow(0.25)
        elif not complete.is_set():
            complete.set()
            growth.write_manifest(complete=True)

    why = follow(one, threading.Event(), seen_to(service, then))
    assert why == "The recording is complete."
    assert {status for status, _ in said[:-1]} == {"ready-partial"} and said[-1][0] == "ready"
    counts = [count for _, count in said]
    assert counts == sorted(counts) and counts[0] < counts[-1]
    job.refresh_from_db()
    assert not job.following and not is_growing(store.pack_path(job.id)) and not store.data_path(job.id).exists()
    with closing(Pack(store.pack_path(job.id))) as pack:
        assert pack.content_id == job.content_id


def test_what_has_grown_is_an_object_in_the_end(
    owner: User, data: Path, bucket: None, growth: Growth, service: WorkService, settings, monkeypatch
) -> None:
    """Killed when it was put, and before it grew no more, it is put once more."""
    settings.STORE_BUCKET = root = InBucket(f"{BUCKET}/growing/{data.parent.name}")
    with following.beginning(owner, growth.folder, threading.Event()) as found:
        assert found is not None
        job, one = found
        service.run_only(Work.objects.get(target=job.id).id)
        growth.grow(1)
        growth.write_manifest(complete=True)
        with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
            killed.setattr(copies, "take", interrupted)
            follow(one, threading.Event(), service.run_only)
    assert is_growing(store.pack_path(job.id)) and bundles.is_stored(job.id) and not job.facts.get("complete")
    assert list(damages(checksums=True, mend=False)) == []
    with following.following(job) as again:
        assert again is not None and follow(again, threading.Event(), service.run_only) == COMPLETE
    job.refresh_from_db()
    assert (job.status, job.following, job.facts["complete"]) == ("ready", False, True)
    assert not list(store.bundles().iterdir()) and names_in(root / "bundles") == [f"{job.id}.pack"]
    with bundles.opened(job.id) as pack:
        assert pack.content_id == job.content_id
    assert list(damages(checksums=True, mend=False)) == []
    store.data_path(job.id).write_bytes(b"left by who was killed just then")
    leftovers.remove()
    assert not list(store.bundles().iterdir())


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_bundle_that_grows_here_is_not_begun_where_tasks_are_elsewhere(owner: User, growth: Growth, settings) -> None:
    settings.STORE_BUCKET, settings.SPARK_MASTER = InBucket("bucket/store"), "spark://head:7077"
    with (
        pytest.raises(jobs.Refused, match=r"tasks of a cluster \(SPARK_MASTER\) can't reach"),
        following.beginning(owner, growth.folder, threading.Event()),
    ):
        pass


def test_who_was_killed_is_followed_on_by_the_next(owner: User, growth: Growth, service: WorkService) -> None:
    with following.beginning(owner, growth.folder, threading.Event()) as found:
        assert found is not None
        job, one = found
        growth.grow(0.2)
        one.look()  # and then it is killed: what it took in is nowhere published
    stop = threading.Event()
    with following.following(job) as again:
        assert again is not None
        with following.following(job) as other:
            assert other is None, "two follow one folder"
        follow(again, stop, seen_to(service, lambda _: stop.set()))
    job.refresh_from_db()
    assert job.status == "ready-partial" and following.followed_before(owner, growth.folder) == job
    leftovers.remove()
    with closing(Pack(store.pack_path(job.id))) as pack:
        assert pack.content_id == job.content_id


def test_one_that_was_killed_between_the_last_look_and_the_last_version_ends_well(
    owner: User, growth: Growth, service: WorkService
) -> None:
    growth.grow(1)
    growth.write_manifest(complete=True)
    with following.beginning(owner, growth.folder, threading.Event()) as found:
        assert found is not None
        job, one = found
        service.run_only(Work.objects.get(target=job.id).id)
        one.settle()
    job.refresh_from_db()
    with following.following(job) as again:
        assert again is None
    service.run_only(Work.objects.get(target=job.id, state="queued").id)
    job.refresh_from_db()
    assert (job.status, job.following, job.facts["complete"]) == ("ready", False, True)


@pytest.mark.parametrize("moment", ["first version", "a version", "settled", "told", "ended"])
def test_the_same_command_goes_on_whenever_it_was_killed(
    owner: User, growth: Growth, service: WorkService, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    monkeypatch.setattr(command, "service", lambda: service)
    with following.beginning(owner, growth.folder, threading.Event()) as found:
        assert found is not None
        job, one = found
        if moment == "first version":
            assert claim(Work.objects.get(target=job.id).id, by=DEAD) is not None
            (store.staging_path(Work.objects.get(target=job.id).id, 1)).mkdir(parents=True)
        else:
            service.run_only(Work.objects.get(target=job.id).id)
        growth.grow(0.2 if moment == "a version" else 1)
        growth.write_manifest(complete=moment != "a version")
        one.look()
        job.refresh_from_db()
        if moment == "a version":
            one.store()
        elif moment in ("settled", "told", "ended"):
            stored = one.settle()
            work = following.complete(job, stored) if moment != "settled" else None
            if moment == "ended" and work is not None:
                service.run_only(work.id)
    lying = [str(one) for one in damages(checksums=True, mend=False)]
    assert all("belongs to nothing" in one for one in lying), lying
    assert len(lying) == (moment == "first version")
    growth.grow(1)
    growth.write_manifest(complete=True)
    again, why = command.followed(owner, growth.folder, command="test", say=lambda _: None)
    assert (again, why) == (job, COMPLETE) and again is not None
    assert (again.status, again.following, again.facts["complete"]) == ("ready", False, True)
    assert Job.objects.count() == 1
    assert command.followed(owner, growth.folder, command="test", say=lambda _: None)[0] == again
    leftovers.remove()
    assert list(damages(checksums=True, mend=False)) == []


def test_a_folder_that_holds_another_recording_by_now_is_another_job(
    owner: User, growth: Growth, service: WorkService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "service", lambda: service)
    growth.grow(1)
    growth.write_manifest(complete=True)
    first, _ = command.followed(owner, growth.folder, command="test", say=lambda _: None)
    (growth.folder / "notes.txt").write_text("more")
    second, _ = command.followed(owner, growth.folder, command="test", say=lambda _: None)
    assert first != second and {job.status for job in Job.objects.all()} == {"ready"}


def test_the_last_version_is_made_where_the_driver_dies_over_those_before(
    owner: User, growth: Growth, service: WorkService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "service", lambda: service)
    service.driver.deaths = 1  # type: ignore[attr-defined]
    growth.grow(1)
    growth.write_manifest(complete=True)
    job, why = command.followed(owner, growth.folder, command="test", say=lambda _: None)
    assert job is not None and (job.status, why) == ("ready", COMPLETE)


def test_the_command_takes_over_where_the_server_that_worked_for_it_is_gone(
    owner: User, growth: Growth, service: WorkService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "service", lambda: service)
    growth.grow(1)
    growth.write_manifest(complete=True)
    made: list[Job | None] = []

    def in_a_thread() -> None:
        made.append(command.followed(owner, growth.folder, command="test", say=lambda _: None)[0])

    with folder.held(command="up"):
        thread = threading.Thread(target=in_a_thread)
        thread.start()
        wait_until(Work.objects.exists, "the first version's turn", 60)
        assert claim(Work.objects.get().id, by=DEAD) is not None
    thread.join(60)
    [job] = made
    assert job is not None and job.status == "ready"


def test_an_audit_says_that_its_recording_has_grown_since(
    begun: tuple[Job, Following], growth: Growth, service: WorkService
) -> None:
    job, one = begun
    client, made, complete = Client(), list[int](), threading.Event()
    client.force_login(job.owner)

    def told() -> dict[str, Any]:
        return client.get(f"/api/v1/jobs/{job.id}/audit").json()

    def then(version: int) -> None:
        """The first version is audited, then there are more, then the last one, which is audited unasked."""
        if version == 1:
            audits.start(job.owner, Job.objects.get(id=job.id))
            service.run_only(Work.objects.get(kind=Work.Kind.AUDIT).id)
            made.append(told()["report"]["recording"]["tasks"])
            assert (told()["behind"], told()["newer_epochs"]) == (False, 0)
            assert "has grown since" not in client.get(f"/jobs/{job.id}/audit/").content.decode()
        if growth.left:
            growth.grow(0.3)
        elif not complete.is_set():
            complete.set()
            growth.write_manifest(complete=True)
            page = client.get(f"/jobs/{job.id}/audit/").content.decode()
            assert "has grown since this report was made, by" in page
            assert told()["behind"] and 0 < told()["newer_epochs"] < Job.objects.get(id=job.id).facts["epochs"]
            assert "before it grew" in client.get(f"/jobs/{job.id}/").content.decode()
            assert "before it grew" in client.get("/").content.decode()

    assert follow(one, threading.Event(), seen_to(service, then)) == COMPLETE
    assert made and told()["behind"]
    again = Work.objects.get(kind=Work.Kind.AUDIT, state=Work.State.QUEUED)
    service.run_only(again.id)
    assert (told()["behind"], told()["newer_epochs"], told()["status"]) == (False, 0, "ready")
    assert told()["report"]["recording"]["complete"]


def test_an_audit_of_what_was_complete_meanwhile_is_made_anew(
    begun: tuple[Job, Following], growth: Growth, service: WorkService, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, one = begun
    audited = supervise_audit.run_audit

    def meanwhile(*given: Any, **more: Any) -> dict[str, Any]:
        """While the first audit is under way the recording comes to its end."""
        monkeypatch.setattr(supervise_audit, "run_audit", audited)
        outcome = audited(*given, **more)
        growth.grow(1.0)
        growth.write_manifest(complete=True)
        assert follow(one, threading.Event(), seen_to(service, lambda version: None)) == COMPLETE
        assert not Work.objects.filter(kind=Work.Kind.AUDIT, state=Work.State.QUEUED).exists()
        return outcome

    def then(version: int) -> None:
        if version == 1:
            Job.objects.filter(id=job.id).update(following=False)

    follow(one, threading.Event(), seen_to(service, then))  # which is audited, as nobody follows it any more
    Job.objects.filter(id=job.id).update(following=True)
    monkeypatch.setattr(supervise_audit, "run_audit", meanwhile)
    service.run_only(Work.objects.get(kind=Work.Kind.AUDIT).id)
    audit = audits.of(job)
    assert audit is not None and audit.behind and audit.pending
    service.run_only(Work.objects.get(kind=Work.Kind.AUDIT, state=Work.State.QUEUED).id)
    audit = audits.of(job)
    assert audit is not None and not audit.behind and not audit.pending


def test_the_switch_on_the_page(begun: tuple[Job, Following], growth: Growth, service: WorkService) -> None:
    job, one = begun
    client, other = Client(), Client()
    client.force_login(job.owner)
    other.force_login(User.objects.create_user("eve"))

    def then(_: int) -> None:
        if not Job.objects.get(id=job.id).following:
            return
        page = client.get(f"/jobs/{job.id}/").content.decode()
        assert "Still being recorded" in page and "Stop following" in page
        assert other.post(f"/jobs/{job.id}/follow/", {"follow": "0"}).status_code == 404
        client.post(f"/jobs/{job.id}/follow/", {"follow": "0"})

    assert follow(one, threading.Event(), seen_to(service, then)) == ""
    job.refresh_from_db()
    assert not job.following
    assert "not followed" in client.get(f"/jobs/{job.id}/").content.decode()
    client.post(f"/jobs/{job.id}/follow/", {"follow": "1"})
    assert client.get(f"/api/v1/jobs/{job.id}").json()["following"] is True


def test_versions_in_a_bucket_share_what_is_settled(
    owner: User, data: Path, bucket: None, growth: Growth, service: WorkService, settings, monkeypatch
) -> None:
    settings.LAKE_ROOT = root = InBucket(f"{BUCKET}/grown/{data.parent.name}")
    put, sent = sending.put_file, list[set[str]]()

    def noted(place: InBucket, path: Path) -> None:
        sent[-1].add(path.relative_to(data / "staging").as_posix().partition("/")[2])
        put(place, path)

    monkeypatch.setattr(sending, "put_file", noted)
    with following.beginning(owner, growth.folder, threading.Event()) as found:
        assert found is not None
        job, one = found

        def then(_: int) -> None:
            if len(store.grown_of(job.id)) == 1:
                assert leftovers.remove() == []
            files = {file.path for file in LakeManifest.read(published_folder(root, job.id)).files}
            assert names_in(root / "lake" / ".versions") == [published_folder(root, job.id).name]
            shared.append(len(files - sent[-1]))
            sent.append(set())
            if len(shared) == 2:  # as where its process was killed before it could be kept
                shutil.rmtree(store.grown())
            if growth.left:
                growth.grow(0.2)
            elif not complete.is_set():
                complete.set()
                growth.write_manifest(complete=True)

        shared, complete = list[int](), threading.Event()
        sent.append(set())
        assert follow(one, threading.Event(), seen_to(service, then)) == COMPLETE
    job.refresh_from_db()
    assert (job.status, job.following) == ("ready", False) and len(shared) > 3
    assert shared[0] == shared[2] == 0 < min(shared[1], shared[-1])
    assert store.grown_of(job.id) == [] and not list(settings.STAGING.iterdir())
    there, (whole, _) = Lake(root).job(job.id), ingested_here(store.pack_path(job.id), data / "whole")
    for table in LAKE_TABLES:
        assert sorted(map(str, rows_of(there, table))) == sorted(map(str, rows_of(whole, table))), table


def test_what_was_stored_at_once_has_nothing_to_follow(owner: User, growth: Growth) -> None:
    job = jobs.create_job_from_file(owner, growth.folder, "whole")
    with pytest.raises(jobs.Refused, match="stored as a whole"):
        following.switch(job, True, owner)


def test_a_bundle_that_is_stored_again_when_it_has_grown_is_another_job(owner: User, growth: Growth) -> None:
    first = jobs.create_job_from_file(owner, growth.folder, "growing")
    growth.grow(0.3)
    assert jobs.create_job_from_file(owner, growth.folder, "growing").id != first.id


@pytest.mark.parametrize("what", ["shrunk", "over quota"])
def test_what_cannot_go_on_is_said_and_what_was_taken_in_stays(
    begun: tuple[Job, Following], growth: Growth, service: WorkService, what: str
) -> None:
    job, one = begun
    log = max((path for path in growth.folder.rglob("*.det")), key=lambda path: path.stat().st_size)

    def then(_: int) -> None:
        if what == "shrunk":
            log.write_bytes(b"")
        else:
            Quota.objects.get_or_create(user=job.owner, defaults={"max_bytes": job.bytes})
            growth.grow(0.3)

    with pytest.raises((BundleError, jobs.OverQuota)):
        follow(one, threading.Event(), seen_to(service, then))
    job.refresh_from_db()
    assert (job.status, job.following) == ("ready-partial", False)
    assert (log.name in job.message) if what == "shrunk" else ("quota" in job.message)


def test_deleting_takes_the_growing_pack_too(begun: tuple[Job, Following], growth: Growth) -> None:
    job, one = begun
    jobs.delete_job(job, job.owner)
    assert follow(one, threading.Event(), lambda _: None) == "The job was deleted."
    assert not store.pack_path(job.id).exists() and not store.data_path(job.id).exists()


def test_leftovers_of_a_follower_are_removed(owner: User, growth: Growth) -> None:
    job = jobs.create_job_from_file(owner, growth.folder, "whole")
    for name in (f"{job.id}.data", f".{job.id}.pack.abc.part"):
        (store.bundles() / name).write_bytes(b"x")
    leftovers.remove()
    assert [path.name for path in store.bundles().iterdir()] == [f"{job.id}.pack"]


def test_without_a_manifest_nothing_is_stored(sqlite: str, owner: User, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    stop = threading.Event()
    stop.set()
    with following.beginning(owner, tmp_path / "empty", stop) as found:
        assert found is None
    assert not list(store.bundles().iterdir()) and not Job.objects.exists()
