"""Progress reaches the row at most once a second, and watchers through the channel layer without waiting."""

import asyncio
import threading
from pathlib import Path

import pytest
from channels.layers import get_channel_layer
from django.contrib.auth.models import User

from dashboard import jobs, progress
from dashboard.models import Job, Work
from dashboard.work.claim import claim
from tests.dashboard.work.conftest import write_bundle


@pytest.fixture
def job(sqlite: str, owner: User, tmp_path: Path) -> Job:
    return jobs.create_job_from_file(owner, write_bundle(tmp_path / "bundle"), "a bundle")


def test_the_row_is_written_at_most_once_a_second(job: Job, monkeypatch) -> None:
    now = 100.0
    monkeypatch.setattr("dashboard.progress.time.monotonic", lambda: now)
    held = claim(Work.objects.get(target=job.id).id)
    assert held is not None
    reporter, written = progress.Reporter(held), []
    for done in range(50):
        now = 100.0 + done / 10
        reporter.report("decoding", done, 50, "members", "")
        written.append(Work.objects.get(id=held.work_id).done)
    assert len(set(written)) == 5 and written[-1] == 40


def test_a_job_that_waits_shows_no_old_numbers(job: Job) -> None:
    held = claim(Work.objects.get(target=job.id).id)
    assert held is not None
    progress.Reporter(held).report("decoding", 7, 9, "members", "half way")
    assert progress.state_of(job.id) == {
        "status": "running",
        "phase": "decoding",
        "done": 7,
        "total": 9,
        "unit": "members",
        "message": "half way",
    }
    jobs.cancel(job, job.owner)
    state = progress.state_of(job.id)
    assert state is not None and (state["status"], state["phase"], state["done"]) == ("cancelled", "", 0)
    assert progress.state_of("j_000000000000") is None


async def test_what_another_thread_pushes_arrives_in_the_servers_loop() -> None:
    layer = get_channel_layer()
    await layer.group_add(progress.group_of("j_1"), "test!channel")
    await progress.use_running_loop()
    try:
        threading.Thread(target=progress.push, args=("j_1", {"status": "running"})).start()
        message = await asyncio.wait_for(layer.receive("test!channel"), 5)
    finally:
        progress.use_loop(None)
    assert message == {"type": "progress", "state": {"status": "running"}}


def test_without_a_server_a_push_goes_nowhere_and_does_not_fail() -> None:
    progress.push("j_1", {"status": "running"})
