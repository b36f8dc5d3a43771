"""Windows on the long lists of a replay's page, compared with the whole lists as plain Python makes them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard import store
from dashboard.models import Job, Replay
from dashboard.queries.recovery_log import log_window, recovery_log
from dashboard.queries.replay_channels import inputs, inputs_around, ledger, ledger_window
from dashboard.views.replay_rows import LISTS, MOST_ROWS
from ingest.lake.step_reader import StepReader
from tests.dashboard.pages.conftest import as_seen_by
from tests.many_steps import write

STEPS = 6_000


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> StepReader:
    folder = tmp_path_factory.mktemp("windows") / "replay"
    folder.mkdir()
    write(folder, STEPS)
    return StepReader(folder)


@pytest.fixture(autouse=True)
def empty_lake(tmp_path: Path, settings: Any) -> None:
    settings.LAKE, settings.STORE = tmp_path / "lake", tmp_path / "store"


def taken_of(reader: StepReader) -> list[int]:
    return [row["step"] for row in reader.between(0, reader.steps) if row["kind"] in ("take-determinant", "fire-async")]


@pytest.mark.parametrize("seed", range(3))
def test_a_window_on_the_log_is_a_piece_of_it(reader: StepReader, seed: int) -> None:
    rng, whole = random.Random(seed), taken_of(reader)
    for _ in range(8):
        first, count, step = rng.randrange(len(whole) + 5), rng.randrange(1, 60), rng.randrange(reader.steps)
        window = log_window(reader, "j_none", step, first, count)
        known = f"seed {seed}, first {first}, count {count}, step {step}"
        assert [one.step for one in window.taken] == whole[first : first + count], known
        assert window.cursor == max((one for one in whole if one <= step), default=None), known


def test_what_a_step_shows_of_the_log_is_the_window_around_it_and_as_long_at_either_end(reader: StepReader) -> None:
    whole = taken_of(reader)
    for step in (0, 1, whole[2], STEPS // 2, whole[-3], reader.steps - 1):
        log = recovery_log(reader, "j_none", step)
        assert len(log.taken) == 10
        assert [one.step for one in log.taken] == whole[log.first : log.first + 10]
        assert (log.total, log.so_far) == (len(whole), sum(one <= step for one in whole))


def test_the_ledger_opens_where_its_window_says_and_tells_what_is_being_filled_there_too(reader: StepReader) -> None:
    whole = [row["step"] for row in reader.between(0, reader.steps) if row["kind"] == "hold-back"]
    for step in (0, whole[3] + 5, whole[-1], reader.steps - 1):
        shown = ledger(reader, step)
        assert [one.step for one in shown.rows] == whole[shown.first : shown.first + 9]
        assert ledger_window(reader, step, shown.first, 9) == shown.rows
        assert not any(one.filled_bytes for one in ledger_window(reader, step, shown.so_far + 1, 60)), "filled before"
    assert ledger_window(reader, 0, len(whole), 50) == []


def test_of_many_inputs_those_around_the_step_s_are_shown(reader: StepReader) -> None:
    named = [f"auctions.{n}>join.2" for n in range(4)] + [f"persons.{n}>join.2" for n in range(5_000)]
    every = inputs(reader, STEPS // 2, named)
    assert [one.channel for one in every] == named and [one.index for one in every] == list(range(len(named)))
    for channel, first in (("auctions.0>join.2", 0), (named[2_000], 1_994), (named[-1], len(named) - 12), (None, 0)):
        shown = inputs_around(every, channel)
        assert (shown.first, len(shown.rows), shown.total) == (first, 12, len(named))


@pytest.fixture
def replay(sqlite: str) -> Replay:
    owner = User.objects.create_user("owner")
    job = Job.objects.create(owner=owner, name="a job", content_id="c" * 64, bytes=1)
    replay = Replay.objects.create(job=job, owner=owner, task="join.2", failure=0)
    store.replay_path(replay.id).mkdir(parents=True)
    write(store.replay_path(replay.id), 2_000)
    change = {"change": "lost"}
    of_it = {"job": job, "owner": owner, "task": "join.2", "failure": 0, "parent": replay, "change": change}
    Replay.objects.bulk_create(Replay(**of_it, fork_step=step) for step in range(MOST_ROWS + 50))
    return replay


@pytest.mark.parametrize("name", LISTS)
def test_rows_are_never_more_than_a_few_screens(replay: Replay, name: str) -> None:
    client = as_seen_by(replay.owner)
    for query, most in (("", MOST_ROWS), ("?count=999999999", MOST_ROWS), ("?count=7&from=1&step=99999999", 7)):
        page = client.get(f"/replays/{replay.id}/rows/{name}/{query}")
        assert page.status_code == 200 and 0 < page.content.count(b"<tr") <= most, query
    for query in ("?from=99999999999", "?from=-3&count=x&step=y", "?count=0"):
        assert client.get(f"/replays/{replay.id}/rows/{name}/{query}").status_code == 200


def test_the_hits_of_a_search_are_a_list_too(replay: Replay) -> None:
    client, api = as_seen_by(replay.owner), f"/replays/{replay.id}"
    page = client.get(f"{api}/?step=900&find=kind+%3D+take-buffer").content.decode()
    assert 'aria-label="Hits of the search"' in page
    part = client.get(f"{api}/hits/?step=900&find=kind+%3D+take-buffer").content.decode()
    assert part.count("<tr") == 8 and 'data-window="hits"' in part
    rows = client.get(f"{api}/rows/hits/?step=900&from=2&count=3&find=kind+%3D+take-buffer")
    assert rows.content.count(b"<tr") == 3
    for nothing in ("", "&find=", "&find=kind+%3D+none"):
        assert b"<tr" not in client.get(f"{api}/hits/?step=900{nothing}").content, nothing
    assert "a condition must stand here" in client.get(f"{api}/?find=kind+%3D+x+and").content.decode()
    assert client.get(f"{api}/rows/hits/?step=900&from=0&count=3&find=kind+%3D").status_code == 422


def test_all_changes_of_a_key_are_a_search_away(replay: Replay) -> None:
    page = as_seen_by(replay.owner).get(f"/replays/{replay.id}/?step=900").content.decode()
    assert 'data-find="change(key = &quot;left[' in page
    # Of these keys it is not recorded when they came: how many there are is not told.
    assert "keys after it" not in page


def test_there_are_no_rows_of_lists_that_are_not_there(replay: Replay) -> None:
    for name in ("buffers", "..", "%00", "log%0a"):
        assert as_seen_by(replay.owner).get(f"/replays/{replay.id}/rows/{name}/").status_code == 404


def test_what_cannot_be_read_is_a_fault_or_a_line_as_was_asked(replay: Replay) -> None:
    client, api = as_seen_by(replay.owner), f"/api/v1/replays/{replay.id}"
    for path in ("hits?where=kind+%3D", "go?to=knid+%3D+x"):
        assert client.get(f"{api}/{path}").status_code == 422
        assert client.get(f"{api}/{path}&lenient=true").status_code == 200
    assert "is no field of a step" in client.get(f"{api}/go?to=knid+%3D+x&lenient=true").json()["why"]


@pytest.mark.parametrize("bent", ["keys=x", "keys=%F0%9F%92%A9", "view=9-1&panel=%22%3E&why=some&unit=mile", "step=-1"])
def test_a_bent_link_opens_the_page_with_what_of_it_can_be_read(replay: Replay, bent: str) -> None:
    page = as_seen_by(replay.owner).get(f"/replays/{replay.id}/?{bent}")
    assert page.status_code == 200
    assert b'id="now"' in page.content and b'id="state"' in page.content
