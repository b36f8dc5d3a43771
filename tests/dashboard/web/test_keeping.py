"""Legal hold, retention by age, and what stands where links to something deleted point."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.contrib.auth.models import User
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import ProtectedError
from django.test import Client
from django.utils import timezone

from dashboard import jobs, payloads, retention
from dashboard.models import AuditEntry, Job, JobShare, LegalHold, PayloadLook, Replay, Tombstone, Upload
from dashboard.people import holds, sharing
from dashboard.work.sweep import sweep
from tests.dashboard.web.people import World, ask

SECRET = "plantedMessageQx7"


@pytest.fixture
def world(sqlite: str, settings: Any) -> World:
    settings.ALLOWED_HOSTS = ["testserver.invalid"]
    payloads.forget_recent()
    return World()


def made(world: World) -> tuple[Job, Replay]:
    things = world.things()
    Job.objects.filter(id=things["job_id"]).update(name="orders of May", message=SECRET, status="failed")
    Replay.objects.filter(id=things["replay_id"]).update(sentence=SECRET, detail={"asked": SECRET}, status="failed")
    return Job.objects.get(id=things["job_id"]), Replay.objects.get(id=things["replay_id"])


def page(world: World, name: str, path: str, method: str = "GET", **sent: Any) -> Any:
    return ask(method, path, world.visitors[name].headers | {"Accept": "text/html"}, **sent)


def test_what_was_deleted_says_so_to_who_could_see_it(world: World) -> None:
    job, replay = made(world)
    assert page(world, "owner", f"/jobs/{job.id}/delete/", "POST").status_code == 302
    for path in (f"/jobs/{job.id}/", f"/jobs/{job.id}/logs/", f"/jobs/{job.id}/sharing/", f"/replays/{replay.id}/"):
        for name, status in {"owner": 410, "shared": 410, "other": 404, "staff": 404}.items():
            answer = page(world, name, path)
            assert answer.status_code == status, (path, name)
            assert (" was deleted by owner on " in answer.text) == (status == 410)
            assert SECRET not in answer.text and ("orders of May" in answer.text) <= (status == 410)
    for path in (
        f"jobs/{job.id}",
        f"jobs/{job.id}/tables/events",
        f"replays/{replay.id}",
        f"replays/{replay.id}/steps",
    ):
        told = ask("GET", f"/api/v1/{path}", world.visitors["shared-token"].headers)
        error = told.json()["error"]
        assert (told.status_code, error["code"]) == (410, "deleted") and SECRET not in told.text
        assert set(error["detail"]) == {"kind", "name", "deleted_at", "deleted_by"}
        assert ask("GET", f"/api/v1/{path}", world.visitors["other-token"].headers).status_code == 404


def test_a_deleted_replay_leaves_its_job_and_a_tombstone(world: World) -> None:
    job, replay = made(world)
    assert ask("DELETE", f"/api/v1/replays/{replay.id}", world.visitors["token"].headers).status_code == 204
    assert page(world, "shared", f"/replays/{replay.id}/").status_code == 410
    assert page(world, "shared", f"/jobs/{job.id}/").status_code == 200
    assert Tombstone.objects.get(target=replay.id).name == "replay of map-1.0"


def test_a_job_on_hold_stays_and_says_who_set_it(world: World) -> None:
    job, replay = made(world)
    owner = world.visitors["token"].headers
    held = ask("PUT", f"/api/v1/jobs/{job.id}/hold", owner, json={"reason": "case  7"})
    assert (held.status_code, held.json()["who"], held.json()["reason"]) == (200, "owner", "case 7")
    for path in (f"jobs/{job.id}", f"replays/{replay.id}"):
        refused = ask("DELETE", f"/api/v1/{path}", owner)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "on-hold")
        assert (
            "owner set it on" in refused.json()["error"]["message"] and "(case 7)" in refused.json()["error"]["message"]
        )
    assert page(world, "owner", f"/jobs/{job.id}/delete/", "POST").headers["location"] == f"/jobs/{job.id}/sharing/"
    confirm = page(world, "owner", f"/jobs/{job.id}/delete/").text
    assert "on legal hold: owner set it" in confirm and 'type="submit">Delete' not in confirm
    for name in ("owner", "shared"):
        assert "On legal hold since" in page(world, name, f"/jobs/{job.id}/sharing/").text
    assert Job.objects.filter(id=job.id).exists() and Replay.objects.filter(id=replay.id).exists()
    assert ask("DELETE", f"/api/v1/jobs/{job.id}/hold", owner).status_code == 204
    assert ask("DELETE", f"/api/v1/jobs/{job.id}", owner).status_code == 204
    assert {"job.hold", "job.unhold"} <= set(AuditEntry.objects.filter(target=job.id).values_list("action", flat=True))


def test_a_hold_of_staff_is_not_its_owners_to_lift(world: World) -> None:
    job, _ = made(world)
    holds.put(job, by=world.staff, reason="case 8")
    refused = ask("DELETE", f"/api/v1/jobs/{job.id}/hold", world.visitors["token"].headers)
    assert refused.status_code == 403 and "staff" in refused.json()["error"]["message"]
    again = ask("PUT", f"/api/v1/jobs/{job.id}/hold", world.visitors["token"].headers, json={"reason": "mine"})
    assert again.status_code == 409 and LegalHold.objects.get(job=job).who == "staff"
    with pytest.raises(ProtectedError):
        Job.objects.filter(id=job.id).delete()


def test_an_account_whose_job_is_on_hold_is_not_deleted_from_the_administration(world: World) -> None:
    job, _ = made(world)
    other, _ = made(world)
    holds.put(job, by=world.staff, reason="case 9")
    client = Client()
    client.force_login(world.staff)
    address = f"/admin/auth/user/{world.owner.pk}/delete/"
    client.post(address, {"post": "yes"}, headers={"host": "testserver.invalid"})
    # All or nothing: the other job is not gone either.
    assert User.objects.filter(pk=world.owner.pk).exists() and Job.objects.filter(id=other.id).exists()
    holds.lift(job, by=world.staff)
    Upload.objects.all().delete()
    client.post(address, {"post": "yes"}, headers={"host": "testserver.invalid"})
    assert not User.objects.filter(pk=world.owner.pk).exists()
    assert page(world, "shared", f"/jobs/{job.id}/").status_code == 410


def test_old_jobs_are_retired_but_for_those_on_hold_or_at_work(world: World, settings: Any) -> None:
    settings.RETENTION_DAYS = 30
    old, young, held, busy = (made(world)[0] for _ in range(4))
    long_ago = timezone.now() - timedelta(days=31)
    Job.objects.filter(id__in=[old.id, held.id, busy.id]).update(created_at=long_ago)
    Job.objects.filter(id=busy.id).update(status="running")
    holds.put(held, by=world.owner, reason="case 10")
    sweep()
    left = set(Job.objects.values_list("id", flat=True))
    assert left == {young.id, held.id, busy.id}
    gone = ask("GET", f"/api/v1/jobs/{old.id}", world.visitors["token"].headers).json()["error"]
    assert gone["detail"]["deleted_by"] == "retention after 30 days"
    settings.RETENTION_DAYS = 0
    Job.objects.filter(id=young.id).update(created_at=long_ago)
    sweep()
    assert Job.objects.filter(id=young.id).exists()


def test_the_log_of_looks_goes_by_age_alone(world: World, settings: Any) -> None:
    job, held = made(world)[0], made(world)[0]
    holds.put(held, by=world.owner, reason="case 11")
    for one in (job, held):
        PayloadLook.objects.create(job_id=one.id, user=world.owner, who="owner", what="/old")
    PayloadLook.objects.update(at=timezone.now() - timedelta(days=8))
    PayloadLook.objects.create(job_id=job.id, user=world.owner, who="owner", what="/new")
    retention.retire()
    assert PayloadLook.objects.count() == 3
    settings.PAYLOAD_LOG_DAYS = 7
    retention.retire()
    assert set(PayloadLook.objects.values_list("job_id", "what")) == {(job.id, "/new"), (held.id, "/old")}
    jobs.delete_job(job, world.owner)
    assert PayloadLook.objects.filter(job_id=job.id).count() == 1
    client = Client()
    client.force_login(world.staff)
    row = PayloadLook.objects.get(job_id=job.id)
    address = f"/admin/dashboard/payloadlook/{row.pk}/delete/"
    assert client.post(address, {"post": "yes"}, headers={"host": "testserver.invalid"}).status_code == 403


def test_of_one_person_and_address_a_look_is_written_once_in_a_while(world: World) -> None:
    job, replay = made(world)
    for name in ("owner", "owner", "shared"):
        page(world, name, f"/replays/{replay.id}/?step=3&find=secret")
    looks = PayloadLook.objects.filter(job_id=job.id).order_by("id")
    assert [(one.who, one.what) for one in looks] == [(name, f"/replays/{replay.id}/") for name in ("owner", "shared")]
    payloads.forget_recent()
    page(world, "owner", f"/replays/{replay.id}/")
    assert looks.all().count() == 3


def test_a_share_is_changed_in_place_and_both_are_in_the_audit_trail(world: World) -> None:
    job, _ = made(world)
    assert sharing.share(job, by=world.owner, username="shared", payloads=False).payloads is False
    assert JobShare.objects.filter(job=job).count() == 1
    form = {"username": "shared", "payloads": "on"}
    assert page(world, "owner", f"/jobs/{job.id}/share/", "POST", data=form).status_code == 302
    assert JobShare.objects.get(job=job).payloads is True
    entries = AuditEntry.objects.filter(target=job.id, action="job.payloads").order_by("id")
    assert [one.detail["payloads"] for one in entries] == [False, True]


def test_the_administration_shows_no_words_of_a_recording(world: World) -> None:
    job, replay = made(world)
    client = Client()
    client.force_login(world.staff)
    # What follows an underscore would be taken for an escaped character.
    changes = f"job/{quote(job.id)}/change/", f"replay/{quote(replay.id)}/change/"
    for path in (*changes, "job/", "replay/", "work/"):
        answer = client.get(f"/admin/dashboard/{path}", headers={"host": "testserver.invalid"})
        assert answer.status_code == 200 and SECRET not in answer.content.decode(), path


@pytest.mark.django_db(transaction=True)
def test_shares_that_stood_before_keep_payloads(sqlite: str) -> None:
    owner, other = User.objects.create_user("before"), User.objects.create_user("with")
    job = Job.objects.create(owner=owner, name="before", content_id="e" * 64)
    executor = MigrationExecutor(connection)
    executor.migrate([("dashboard", "0010_elsewhere")])
    try:
        old = executor.loader.project_state([("dashboard", "0010_elsewhere")]).apps
        old.get_model("dashboard", "JobShare").objects.create(job_id=job.id, user_id=other.pk)
    finally:
        MigrationExecutor(connection).migrate([("dashboard", "0011_privacy")])
    assert JobShare.objects.get(job=job).payloads is True
    assert JobShare(job=job, user=owner).payloads is False
