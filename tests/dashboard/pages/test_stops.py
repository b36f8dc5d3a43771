"""The list of breakpoints: changed by whose replay it is, only read by those it is shared with."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from dashboard import breakpoints
from dashboard.models import Job, JobShare, Replay
from tests.dashboard.pages.conftest import as_seen_by


@pytest.fixture
def replay(owner: User, guest: User) -> Replay:
    job = Job.objects.create(owner=owner, name="a job", content_id="c" * 64, bytes=1)
    JobShare.objects.create(job=job, user=guest, granted_by=owner, payloads=True)
    replay = Replay.objects.create(job=job, owner=owner, task="map-1.0", failure=0)
    breakpoints.add(replay, "kind = <b>'x'</b>".replace("<b>", '"<b>').replace("</b>", '</b>"'), "<i>a label</i>")
    return replay


def test_whose_it_is_may_change_it(replay: Replay, owner: User) -> None:
    page = as_seen_by(owner).get(reverse("replay-breakpoints", args=[replay.id])).content.decode()
    assert 'role="switch"' in page and "Delete the breakpoint" in page
    assert "1 of 1 enabled" in page


def test_with_whom_it_is_shared_sees_it_without_controls(replay: Replay, guest: User) -> None:
    page = as_seen_by(guest).get(reverse("replay-breakpoints", args=[replay.id])).content.decode()
    assert 'role="switch"' not in page and "Delete the breakpoint" not in page and "csrfmiddlewaretoken" not in page
    assert '<span class="badge">on</span>' in page


def test_searches_and_labels_are_text_and_no_markup(replay: Replay, owner: User) -> None:
    page = as_seen_by(owner).get(reverse("replay-breakpoints", args=[replay.id])).content.decode()
    assert "&lt;b&gt;" in page and "<b>" not in page
    assert "&lt;i&gt;a label&lt;/i&gt;" in page and "<i>" not in page


def test_words_of_a_replay_without_steps_say_so(replay: Replay, owner: User) -> None:
    answer = as_seen_by(owner).get(f"/replays/{replay.id}/?go=last&step=3", follow=True)
    assert answer.redirect_chain == [(f"/replays/{replay.id}/?step=3", 302)]
    assert "it has no steps to read" in answer.content.decode()
