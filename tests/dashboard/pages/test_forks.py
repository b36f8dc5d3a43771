"""Forks and comparisons on pages and in the API: over a real recording, its real replay, and real children."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.template.loader import render_to_string

from dashboard import forks, store
from dashboard.comparing import Chosen, compare
from dashboard.jobs import Refused
from dashboard.models import Job, JobShare, Replay, Work
from dashboard.problems import Problem
from dashboard.queries.steps import reading
from dashboard.views.replay_forks import forks_context
from ingest.jobs.replay import run
from ingest.lake.steps import ParquetStepSink
from replay.bundle.containers import open_container
from replay.bundle.limits import Limits
from replay.bundle.pack import write_pack
from replay.debugger.forks.changes import MOST_CHANGES
from tests.dashboard.pages.conftest import as_seen_by
from tests.replay.debugger.recordings import failing, one_failure
from tests.replay.debugger.worlds import MemoryMembers


class Told:
    """What a child answers, kept."""

    def __init__(self) -> None:
        self.outcome: dict[str, Any] = {}

    def send(self, **answer: Any) -> None:
        self.outcome = answer.get("outcome", self.outcome)


@pytest.fixture
def job(owner: User, tmp_path: Path) -> Job:
    return stored(owner, one_failure(), tmp_path)


def stored(owner: User, members: MemoryMembers, tmp_path: Path) -> Job:
    folder = tmp_path / "bundle"
    for name, data in members.members.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    made = Job.objects.create(
        owner=owner, name="one failure", status="ready", facts={"failures": [{"failure": 0, "task": "map-1.0"}]}
    )
    store.pack_path(made.id).parent.mkdir(parents=True, exist_ok=True)
    with open_container(folder, Limits()) as container:
        write_pack(container, store.pack_path(made.id), Limits())
    return made


def executed(replay: Replay) -> Replay:
    """As its child and its supervisor do it."""
    folder = store.replay_path(replay.id)
    folder.mkdir(parents=True)
    told = Told()
    request = {
        "pack": str(store.pack_path(replay.job_id)),
        "task": replay.task or None,
        "failure": replay.failure,
        "attempt": replay.attempt,
        "on_divergence": replay.on_divergence,
        "fork_step": replay.done_at,
        "change": replay.change,
        "before": replay.before,
        "diverged_at": replay.diverged_at,
    }
    run(request, told, ParquetStepSink(folder))  # type: ignore[arg-type]
    Work.objects.filter(target=replay.id).delete()
    for name in ("verdict", "sentence", "detail", "steps"):
        setattr(replay, name, told.outcome[name])
    replay.status = "ready"
    replay.save()
    return replay


@pytest.fixture
def parent(job: Job, owner: User) -> Replay:
    return executed(Replay.objects.create(job=job, owner=owner, task="map-1.0", failure=0))


def step_that_offers(parent: Replay, change: str) -> int:
    return next(step for step in range(parent.steps) if change in names_at(parent, step))


def names_at(parent: Replay, step: int) -> list[str]:
    return [one.change for one in forks.offered_at(parent, step)]


def test_only_changes_that_apply_are_offered_and_none_of_them_is_refused(parent: Replay, owner: User) -> None:
    given = {"order": {}, "value": {"value": 7}, "lost": {}, "holder": {}, "depth": {}, "failure": {}, "operator": {}}
    for step in {0, 8, step_that_offers(parent, "value"), step_that_offers(parent, "order"), parent.steps // 2}:
        for offer in forks.offered_at(parent, step):
            chosen: Any = offer.choices[0] if offer.choices else None
            if offer.change == "depth" and chosen != "full":
                chosen = int(chosen)
            fields = given[offer.change] | ({offer.field: chosen} if offer.choices else {})
            fork = executed(forks.start(owner, parent, step, {"change": offer.change, **fields}))
            assert fork.verdict == "forked", (step, offer, fork.sentence)
            assert fork.detail["fork"]["change"]["change"] == offer.change


def test_a_fork_is_shown_with_its_parent_and_what_came_of_it(job: Job, owner: User) -> None:
    parent = executed(Replay.objects.create(job=job, owner=owner, task="map-1.0", attempt=0))
    step = step_that_offers(parent, "value")
    page = as_seen_by(owner).get(f"/replays/{parent.id}/?step={step}").content.decode()
    assert f"/replays/{parent.id}/forks/" in page and 'value="value"' in page
    answer = as_seen_by(owner).post(
        f"/replays/{parent.id}/forks/", {"step": str(step), "change": "value", "chosen": "1600000999999"}
    )
    fork = Replay.objects.get(parent=parent)
    assert answer["Location"] == f"/replays/{fork.id}/"
    assert fork.change == {"change": "value", "value": 1600000999999} and fork.fork_step == step
    executed(fork)
    page = as_seen_by(owner).get(f"/replays/{fork.id}/").content.decode()
    assert f'href="/replays/{parent.id}/?step={step}"' in page and "the clock read 1600000999999</span>" in page
    assert "<code>value[&quot;at_ms&quot;] = context.clock.now_ms()</code>" in page, "the line that read it"
    assert "May be affected" in page and "Can&#x27;t be affected" in page.replace("'", "&#x27;")
    listed = as_seen_by(owner).get(f"/api/v1/replays/{parent.id}/forks").json()["replays"]
    assert [one["id"] for one in listed] == [fork.id] and listed[0]["parent"] == parent.id


def test_what_can_not_be_forked_is_refused_with_the_reason(parent: Replay, owner: User, guest: User) -> None:
    with pytest.raises(Problem, match="no change 'time'"):
        forks.start(owner, parent, 0, {"change": "time"})
    with pytest.raises(Problem, match="has no step"):
        forks.start(owner, parent, parent.steps, {"change": "lost"})
    fork = executed(forks.start(owner, parent, 3, {"change": "failure", "task": "sink.0"}))
    with pytest.raises(Problem, match="This fork begins at step 3; fork its parent there"):
        forks.start(owner, fork, 3, {"change": "lost"})
    assert forks.offered_at(fork, 3) == []
    Replay.objects.filter(id=parent.id).update(verdict="diverged", detail={"step": 3})
    parent.refresh_from_db()
    with pytest.raises(Refused, match="diverges at step 3; fork it before that"):
        forks.start(owner, parent, 3, {"change": "lost"})
    assert forks.start(owner, parent, 2, {"change": "failure", "task": "sink.0"}).diverged_at == 3
    with pytest.raises(Problem, match="At step 2 the change lost does not apply: what applies there is holder, depth"):
        forks.start(owner, parent, 2, {"change": "lost"})
    Replay.objects.filter(id=parent.id).update(verdict="unknown")
    parent.refresh_from_db()
    with pytest.raises(Refused, match="is unknown; what its forks would begin from"):
        forks.start(owner, parent, 3, {"change": "lost"})
    body = json.dumps({"step": 3, "change": {"change": "lost"}})
    assert as_seen_by(guest).post(f"/api/v1/replays/{parent.id}/forks", body, "application/json").status_code == 404
    assert as_seen_by(owner).post(f"/api/v1/replays/{parent.id}/forks", body, "application/json").status_code == 409


def test_a_fork_is_forked_again_and_again_and_each_is_held_against_its_parent(job: Job, owner: User) -> None:
    root = executed(Replay.objects.create(job=job, owner=owner, task="map-1.0", attempt=0))
    made, step = root, step_that_offers(root, "value")
    for number in range(MOST_CHANGES):
        body = json.dumps({"step": step, "change": {"change": "value", "value": 1600000990000 + number}})
        answer = as_seen_by(owner).post(f"/api/v1/replays/{made.id}/forks", body, "application/json")
        assert answer.status_code == 202 and answer.json()["before"] == made.chain, answer.json()
        fork = executed(Replay.objects.get(id=answer.json()["id"]))
        report = fork.detail["fork"]
        assert fork.parent_id == made.id and report["forks"] == number + 1 and report["step"] == step, fork.sentence
        first = min(one["second"]["step"] for one in report["differences"])
        assert first > step  # up to there it is its parent
        offering = (one for one in range(step + 1, fork.steps) if "value" in names_at(fork, one))
        made, step = fork, step + 2 if len(fork.chain) == MOST_CHANGES else next(offering)
    assert forks.offered_at(made, step) == []
    with pytest.raises(Refused, match=f"{MOST_CHANGES} forks stand one on another here"):
        forks.start(owner, made, step, {"change": "lost"})
    page = as_seen_by(owner).get(f"/replays/{made.id}/").content.decode()
    assert page.count("fork at step") == MOST_CHANGES - 1 and f"/replays/{made.parent_id}/" in page
    Replay.objects.filter(id=made.parent_id).delete()  # what it is a fork of is told by its own row
    made.refresh_from_db()
    page = as_seen_by(owner).get(f"/replays/{made.id}/?step={step}").content.decode()
    assert made.parent is None and page.count(", deleted") == MOST_CHANGES - 1


def test_a_fork_of_recoveries_replayed_together_is_of_the_task_that_does_the_step(owner: User, tmp_path: Path) -> None:
    job = stored(owner, failing("map-1.0@115+map-2.0@115", depth=5), tmp_path)
    parent = executed(Replay.objects.create(job=job, owner=owner, failure=0))
    assert len(parent.tasks) == 2
    for task in ("map-1.0", "map-2.0"):
        with reading(parent) as written:
            sql = "SELECT step FROM taken WHERE task = $task AND determinant = $kind ORDER BY step LIMIT 1 OFFSET 9"
            ((step,),) = written.rows(sql, {"task": task, "kind": "timestamp"})
        assert "value" in names_at(parent, step)
        fork = executed(forks.start(owner, parent, step, {"change": "value", "value": 1600000123456}))
        assert fork.task == task and fork.fork_step == step and fork.own_step is not None and fork.own_step < step
        assert fork.detail["fork"]["step"] == fork.own_step and fork.verdict == "forked"
        with reading(fork) as written:
            shown = render_to_string(
                "dashboard/partials/fork_banner.html", {"replay": fork, **forks_context(fork, written, 0)}
            )
        assert f"?step={step}" in shown and "is not worked out" in shown and "Recovering with it" in shown
        theirs = forks.steps_in_parent(fork, [fork.own_step])
        assert theirs == {fork.own_step: step}
        again = forks.start(owner, fork, fork.own_step + 3, {"change": "failure", "task": "sink.0"})
        assert again.before == [{"step": fork.own_step, "change": fork.change}] and again.own_step is None
    with pytest.raises(Problem, match="no task does anything"):
        forks.start(owner, parent, parent.steps - 1, {"change": "lost"})


def test_many_forks_are_a_window_on_the_page_and_limited(job: Job, owner: User) -> None:
    parent = executed(Replay.objects.create(job=job, owner=owner, task="map-1.0", attempt=0))
    many = [
        Replay(job=job, owner=owner, task="map-1.0", attempt=0, parent=parent, fork_step=n, change={"change": "lost"})
        for n in range(forks.MOST_FORKS)
    ]
    Replay.objects.bulk_create(many)
    page = as_seen_by(owner).get(f"/replays/{parent.id}/").content.decode()
    assert f'data-window="forks" data-total="{forks.MOST_FORKS}"' in page and page.count("fork-outcome") < 20
    rows = as_seen_by(owner).get(f"/replays/{parent.id}/rows/forks/?from=990&count=48&step=0").content.decode()
    assert rows.count("fork-outcome") == 10
    with pytest.raises(Refused, match="has 1,000 forks"):
        forks.start(owner, parent, 3, {"change": "failure", "task": "sink.0"})


def test_a_fork_outlives_its_parent(job: Job, owner: User) -> None:
    parent = executed(Replay.objects.create(job=job, owner=owner, task="map-1.0", attempt=0))
    fork = executed(forks.start(owner, parent, step_that_offers(parent, "lost"), {"change": "lost"}))
    Replay.objects.filter(id=parent.id).delete()
    fork.refresh_from_db()
    assert fork.parent is None
    assert as_seen_by(owner).get(f"/replays/{fork.id}/").status_code == 200


def test_two_attempts_side_by_side_of_jobs_that_both_may_be_seen(job: Job, owner: User, guest: User) -> None:
    first, second = Chosen(job.id, "map-1.0", 0), Chosen(job.id, "map-1.0", 1)
    report = compare(owner, first, second)
    assert report["only_longer"] == "second"
    page = as_seen_by(owner).get(f"/compare/?job={job.id}&task=map-1.0&attempt=0&other_attempt=1").content.decode()
    assert "The same, as far as both go" in page
    assert f"/jobs/{job.id}/replays/?task=map-1.0&amp;attempt=1" in page and "this step" not in page
    with_it = Replay.objects.create(job=job, owner=owner, task="map-1.0", attempt=1, status="ready", steps=10**6)
    of_a_failure = Replay.objects.create(job=job, owner=owner, task="map-1.0", failure=0, status="ready", steps=10**6)
    page = as_seen_by(owner).get(f"/compare/?job={job.id}&task=map-1.0&attempt=0&other_attempt=1").content.decode()
    step = report["differences"][0]["second"]["step"]
    assert f'href="/replays/{with_it.id}/?step={step}"' in page and of_a_failure.id not in page
    answer = as_seen_by(owner).get(f"/api/v1/compare?job={job.id}&task=map-1.0").json()
    assert answer["report"]["sentence"] == report["sentence"]
    with pytest.raises(Problem) as refused:
        compare(guest, first, second)
    assert refused.value.status == 404
    mine = Job.objects.create(owner=guest, name="mine", status="ready")
    store.pack_path(mine.id).write_bytes(store.pack_path(job.id).read_bytes())
    both = Chosen(mine.id, "map-1.0", 0), Chosen(job.id, "map-1.0", 0)
    for sides in (both, both[::-1]):
        with pytest.raises(Problem) as refused:
            compare(guest, *sides)
        assert refused.value.status == 404
    JobShare.objects.create(job=job, user=guest, payloads=True)
    assert compare(guest, *both)["equal"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("task=map-1.0&attempt=0&other_attempt=0", "one and the same"),
        ("task=map-1.0&attempt=7", "has no attempt 7"),
        ("task=nobody&attempt=0", "no task nobody"),
        ("task=map-1.0&attempt=0&other_task=source.0&other_attempt=0", "stand side by side"),
        ("task=map-1.0&attempt=99999999999999999999", ""),
    ],
)
def test_a_choice_that_can_not_be_compared_is_told_on_the_page(job: Job, owner: User, query: str, said: str) -> None:
    answer = as_seen_by(owner).get(f"/compare/?job={job.id}&{query}")
    assert answer.status_code == 200 and said in answer.content.decode()


def said_by(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    call_command(*arguments, "--json")
    found: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return found


def test_the_commands_fork_and_compare_a_bundle(job: Job, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = str(tmp_path / "bundle")
    change = '{"change": "failure", "task": "sink.0"}'
    outcome = said_by(capsys, "replay", bundle, "--failure", "0", "--fork", "3", "--change", change)
    assert outcome["verdict"] == "forked" and outcome["detail"]["fork"]["change"] == json.loads(change)
    twice = ("--fork", "3", "--change", change, "--fork", "5", "--change", '{"change": "failure", "task": "map-2.0"}')
    outcome = said_by(capsys, "replay", bundle, "--failure", "0", *twice)
    assert outcome["detail"]["fork"]["forks"] == 2 and "itself fork 1 of one replay, at step 5" in outcome["sentence"]
    report = said_by(capsys, "compare", bundle, "--task", "map-1.0")
    assert report["only_longer"] == "second"
    report = said_by(capsys, "compare", bundle, bundle, "--task", "map-1.0", "--other-attempt", "1")
    assert report["only_longer"] == "second"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--fork", "3"), "go together"),
        (("--change", "{}"), "go together"),
        (("--fork", "3", "--change", "{"), "--change is JSON"),
        (("--fork", "3", "--change", '{"change": "time"}'), "there is no change 'time'"),
        (("--fork", "-1", "--change", '{"change": "lost"}'), "names a step"),
        (("--fork", "3", "--fork", "4", "--change", '{"change": "lost"}'), "go together"),
        (("--fork", "3", "--change", '{"change": "lost"}') * 9, "can be given 8 times"),
        (("--fork", "3", "--change", '{"change": "lost"}', "--fail-on-divergence"), "does not go with"),
    ],
)
def test_options_of_a_fork_that_can_not_be_meant_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], why: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("replay", str(tmp_path), *arguments)
    assert ended.value.code == 2 and why in capsys.readouterr().err
