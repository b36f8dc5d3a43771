"""Jobs that the library recorded: their pages offer what can be done with them, and claim nothing that nobody knows."""

import contextlib
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

import clonoscope
from dashboard import elsewhere, forks, jobs, store
from dashboard.jobs import Refused
from dashboard.models import Job, Replay
from dashboard.problems import Problem
from tests.clonoscope.jobs_on_site import PRICING, Site, run_pricing
from tests.clonoscope.recorded import recording
from tests.clonoscope.retried import Broken, chance
from tests.dashboard.pages.conftest import as_seen_by
from tests.dashboard.pages.test_forks import executed

LONG = "it went wrong, " * 2_000
Shelved = Callable[[Path], Job]


def ran_again(folder: Path, **settings: Any) -> Path:
    """Epoch 1 fails of a long message, with a gap in it, and is executed once more."""
    with recording(folder, **settings) as made:
        task = made.task("orders", operator="pricing:process")
        for epoch, fails in ((0, False), (1, True), (1, False)):
            with contextlib.suppress(Broken), task.epoch(epoch):
                for offset in range(2):
                    task.take(2 * epoch + offset, topic="orders", partition=3)
                    task.output([f"k{offset}", 0, {"price": clonoscope.external(chance, offset)}])
                if fails:
                    task.log.gap("the disk was full")
                    raise Broken(f"<b>{LONG}")
    return made.dump(folder / "orders.zip")


@pytest.fixture
def job(tmp_path: Path, shelved: Shelved) -> Job:
    return shelved(ran_again(tmp_path / "recorded", payload="full", redact=["email"]))


def page_of(owner: User, address: str) -> str:
    return as_seen_by(owner).get(address).content.decode()


def test_the_jobs_page_leads_to_attempts_side_by_side_and_to_the_code(job: Job, owner: User) -> None:
    page = page_of(owner, f"/jobs/{job.id}/")
    compare = f"/compare/?job={job.id}&amp;task=orders.0&amp;attempt=0&amp;other_attempt=1"
    assert f'<a class="button primary" href="{compare}">' in page
    assert "clonoscope replay BUNDLE --app pricing:process --task orders.0 --out steps.zip" in page
    # Nothing here can recover it again, hunt in it, or say how far its log had travelled.
    assert 'name="hunt"' not in page and "runs the recovery again" not in page and "causal path" not in page
    assert "detection" not in page and ">new attempt<" in page and ">nobody<" not in page


def test_a_long_message_is_whole_where_one_asks_for_it_and_short_elsewhere(
    tmp_path: Path, shelved: Shelved, owner: User
) -> None:
    page = page_of(owner, f"/jobs/{shelved(ran_again(tmp_path / 'recorded')).id}/")
    text = re.sub(r"<details.*?</details>", "", page, flags=re.DOTALL)
    assert text.count("it went wrong, ") < 40
    (whole,) = re.findall(r'<details class="long-text"><summary>[^<]*…</summary><p>([^<]*)</p>', page)
    assert whole.count("it went wrong, ") > 40 and "&lt;b&gt;it went" in whole and "<b>it" not in page


def test_what_ran_and_what_was_redacted_stands_on_the_page(job: Job, owner: User) -> None:
    page = page_of(owner, f"/jobs/{job.id}/")
    assert 'so not verifiable: <span class="code">email</span>' in page
    assert "<dt>Python</dt>" in page and re.search(r"\d+ packages of Python", page)


def test_reasons_and_sentences_name_tasks_as_they_are_called(tmp_path: Path, shelved: Shelved, owner: User) -> None:
    with recording(tmp_path / "recorded") as made:
        for vertex in ("alone", "again"):
            for fails in (True, False) if vertex == "again" else (False,):
                with contextlib.suppress(Broken), made.task(vertex).epoch(0) as task:
                    task.take(0)
                    task.output(["k", 0, chance()])
                    if fails:
                        raise Broken
        made.task("alone").log.gap("the test says so")
    page = page_of(owner, f"/jobs/{shelved(made.dump(tmp_path / 'orders.zip')).id}/")
    assert "At least once: again.0 gave the outputs of 1 source record" in page
    assert "<li>alone.0 has 1 gap, where something was left out</li>" in page
    assert "of record 0</span>" in page


def test_a_log_names_the_lines_that_asked(job: Job, owner: User) -> None:
    page = page_of(owner, f"/jobs/{job.id}/logs/?task=orders.0")
    asked = re.findall(r"test_recorded_jobs\.py:\d+", page)
    assert len(set(asked)) == 1 and "site 0" not in page and ">record 1</th>" in page
    assert ">Causal path</a>" not in page


def test_a_replay_of_it_walks_the_log_and_says_what_is_missing(job: Job, owner: User) -> None:
    replay = executed(Replay.objects.create(job=job, owner=owner, task="orders.0", attempt=0))
    page = page_of(owner, f"/replays/{replay.id}/")
    assert "The log of this attempt has 1 gap." in page and "the disk was full" in page
    assert "The log of attempt 0 is walked, and nothing of it executed." in page and 'class="diagram"' not in page
    assert "Search: determinant = serializable" in page and "send-buffer and bytes" not in page
    assert "A sink sends nothing downstream" not in page and "nothing stands upstream" not in page
    assert forks.offered_at(replay, 0) == []
    with pytest.raises(Refused, match="code is not here"):
        forks.start(owner, replay, 0, {"change": "lost"})


def test_attempts_side_by_side_show_what_is_not_the_same_and_no_more(job: Job, owner: User) -> None:
    page = page_of(owner, f"/compare/?job={job.id}&task=orders.0&attempt=0&other_attempt=1")
    assert "Not verifiable" in page and f'<a href="/jobs/{job.id}/">orders</a>' in page
    prices = re.findall(r'<span class="soft">price</span> <mark class="code">([0-9.]+)</mark>', page)
    assert len(prices) == 2 and prices[0] != prices[1]
    assert '<span class="soft">key</span>' not in page and "again: Records can" not in page


def test_nothing_at_all_is_said_in_sentences(tmp_path: Path, shelved: Shelved, owner: User) -> None:
    """A manifest without a task, and one whose tasks have no log."""
    ran_again(tmp_path / "recorded")
    bare: tuple[dict[str, Any], ...] = ({}, {"tasks": [], "vertices": []})
    for without in bare:
        with zipfile.ZipFile(tmp_path / "recorded" / "orders.zip") as whole:
            manifest = json.loads(whole.read("job.json")) | without
        with zipfile.ZipFile(tmp_path / "bare.zip", "w") as made:
            made.writestr("job.json", json.dumps(manifest))
        job = shelved(tmp_path / "bare.zip")
        page = page_of(owner, f"/jobs/{job.id}/")
        assert "Nothing was recorded, or what was recorded has been let go." in page
        assert ("The recording holds no choice of this task." in page) == (not without)
        assert (
            ("The manifest names none, so there is nothing to draw." in page) == ("No vertex" in page) == bool(without)
        )
        assert ('name="what" value="attempt"' in page) == (not without)
        job.delete()


def test_of_a_job_that_was_deleted_it_is_said_where_attempts_would_stand(job: Job, owner: User, guest: User) -> None:
    jobs.delete_job(job, owner)
    address = f"/compare/?job={job.id}&task=orders.0&attempt=0&other_attempt=1"
    assert "The job “orders” was deleted by ada" in page_of(owner, address)
    hidden = as_seen_by(guest).get(address)
    assert hidden.status_code == 404 and "deleted" not in hidden.content.decode()


def steps_that_say(verdict: str, made: Path, out: Path) -> tuple[Path, str]:
    """The same steps, with another verdict of their maker's; and of which recording they are."""
    with zipfile.ZipFile(made) as steps, zipfile.ZipFile(out, "w") as bent:
        told = json.loads(steps.read("replay.json"))
        for name in steps.namelist():
            bent.writestr(name, json.dumps({**told, "verdict": verdict}) if name == "replay.json" else steps.read(name))
    return out, told["recording"]


@pytest.mark.parametrize(
    ("settings_of_it", "why"),
    [({"redact": ["item"], "key": b"sixteen bytes or more"}, "it holds redacted values"), ({}, None)],
    ids=["redacted", "whole"],
)
def test_steps_say_identical_only_of_what_can_be_verified(
    settings_of_it: dict[str, Any], why: str | None, tmp_path: Path, shelved: Shelved, owner: User
) -> None:
    site = Site(tmp_path / "site")
    site.folder.mkdir()
    site.write("pricing", PRICING)
    bundle = site.record("orders", run_pricing, **settings_of_it)
    done = site.command("replay", bundle, "--app", "pricing:process", "--out", "steps.zip")
    assert done.stdout.startswith("unknown" if why else "identical"), done.stdout
    steps, recording_id = steps_that_say("identical", site.folder / "steps.zip", tmp_path / "bent.zip")
    job = shelved(bundle)
    Job.objects.filter(id=job.id).update(content_id=recording_id)
    job.refresh_from_db()
    if why is None:
        assert elsewhere.take(owner, job, steps, "steps.zip").verdict == "identical"
        return
    with pytest.raises(Problem, match=why):
        elsewhere.take(owner, job, steps, "steps.zip")
    assert not Replay.objects.exists() and not [*store.replays().rglob("*.parquet")]


def test_a_job_in_which_nothing_ran_again_claims_no_more(tmp_path: Path, shelved: Shelved, owner: User) -> None:
    with recording(tmp_path / "recorded") as made, made.task("orders").epoch(0) as task:
        task.take(0)
    page = page_of(owner, f"/jobs/{shelved(made.dump(tmp_path / 'orders.zip')).id}/")
    assert "No failure was recorded, and nothing ran again." in page and "nothing was lost" not in page
