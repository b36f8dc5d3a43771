"""Abandoned uploads go; those under way stay, whatever their age."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dashboard import store
from dashboard.models import Upload
from dashboard.people import quotas
from dashboard.uploads.landing import Landing
from dashboard.uploads.sweep import GRACE_S, WAITING_S, remove_abandoned


@pytest.fixture
def ada(sqlite: str) -> User:
    return User.objects.create_user("ada")


def landed(user: User, *, form: bool) -> Landing:
    landing = Landing(Upload.objects.create(owner=user, name="a bundle", size=100), form=form)
    landing.write(b"x" * 10)
    landing.commit()
    return landing


def aged(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_a_form_whose_server_was_killed_goes_soon(ada: User) -> None:
    landing = landed(ada, form=True)
    landing.close()
    assert remove_abandoned() == []
    aged(landing.path, 2 * GRACE_S)
    assert remove_abandoned() == [landing.path]
    assert not landing.path.exists() and not Upload.objects.exists()


def test_a_resumable_upload_waits_for_its_next_piece(ada: User) -> None:
    landing = landed(ada, form=False)
    landing.close()
    aged(landing.path, WAITING_S / 2)
    assert remove_abandoned() == []
    aged(landing.path, 2 * WAITING_S)
    assert remove_abandoned() == [landing.path]
    assert quotas.used_bytes(ada) == 0, "its room is free again"


@pytest.mark.parametrize("form", [True, False])
def test_what_is_being_written_stays(ada: User, form: bool) -> None:
    landing = landed(ada, form=form)
    aged(landing.path, 2 * WAITING_S)
    assert remove_abandoned() == []
    landing.close()
    aged(landing.path, 2 * WAITING_S)
    assert remove_abandoned() == [landing.path]


def test_a_row_without_a_file_goes(ada: User) -> None:
    upload = Upload.objects.create(owner=ada, name="never begun", size=100)
    remove_abandoned()
    assert Upload.objects.exists(), "its file may come in a moment"
    Upload.objects.filter(id=upload.id).update(created_at=timezone.now() - timedelta(seconds=2 * GRACE_S))
    remove_abandoned()
    assert not Upload.objects.exists()


def test_a_link_is_not_followed(ada: User, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("precious")
    aged(outside, 2 * WAITING_S)
    store.uploads().mkdir(parents=True)
    (store.uploads() / "u_link").symlink_to(outside)
    remove_abandoned()
    assert outside.read_text() == "precious"
