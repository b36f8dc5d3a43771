"""The ledger of a replay's page: which rebuilt buffer differs is to be seen there, and from which step on."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard import store
from dashboard.models import Job, Replay, Status
from ingest.lake.steps import ParquetStepSink
from replay.debugger.outcome import Outcome
from replay.debugger.replay import replay
from tests.dashboard.pages.conftest import as_seen_by
from tests.ingest.inprocess import ingested_here
from tests.ingest.made import packed
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import bundle_of

DAMAGED = "tasks/map-1.0/0/sent-0/1.buf"
ROW = re.compile(r"<tr[^>]*>(?:(?!</tr>).)*</tr>", re.DOTALL)


@pytest.fixture
def data(tmp_path: Path, settings: Any) -> Path:
    """The folder that pages read tables and packs from."""
    settings.LAKE_ROOT = tmp_path
    return tmp_path


def shown(data: Path, owner: User, damaged_at: int | None) -> tuple[Outcome, Replay]:
    """A replay of a stored recording, of which one bit of one buffer may have been turned."""
    members = one_failure()
    if damaged_at is not None:
        buffers = bytearray(members.members[DAMAGED])
        buffers[damaged_at] ^= 4
        members = members.with_(DAMAGED, bytes(buffers))
    files = dict(members.members)
    pack = packed(json.loads(files.pop("job.json")), files, data / "made")
    ingested_here(pack, data)
    job = Job.objects.create(id="j_1", owner=owner, name="nightly", status=Status.READY, content_id="0" * 64)
    store.pack_path(job.id).parent.mkdir(parents=True)
    pack.rename(store.pack_path(job.id))
    row = Replay.objects.create(job=job, owner=owner, task="map-1.0", failure=0, status=Status.READY)
    sink = ParquetStepSink(store.replay_path(row.id))
    outcome = replay(bundle_of(members), failure=0, sink=sink)
    sink.finish()
    row.verdict, row.sentence, row.detail, row.steps = outcome.verdict, outcome.sentence, outcome.detail, outcome.steps
    row.save()
    return outcome, row


def ledger_of(owner: User, row: Replay, step: int) -> str:
    page = as_seen_by(owner).get(f"/replays/{row.id}/?step={step}").content.decode()
    return page.partition('id="outputs-title"')[2].partition("</section>")[0]


@pytest.mark.parametrize("at", [60, 1500, 3000])
def test_the_buffer_that_differs_stands_in_the_ledger(data: Path, owner: User, at: int) -> None:
    outcome, row = shown(data, owner, at)
    assert outcome.verdict == "diverged" and outcome.detail["member"] == DAMAGED
    ledger = ledger_of(owner, row, outcome.steps - 1)
    assert "1 differs" in ledger
    odd = [one for one in ROW.findall(ledger) if "other bytes" in one]
    assert len(odd) == 1 and f'<td class="number">{outcome.detail["buffer"]}</td>' in odd[0]
    assert f'data-step="{outcome.steps - 2}"' in odd[0] and "map-2.0" in odd[0]
    others = [one for one in ROW.findall(ledger.partition("<tbody>")[2]) if one not in odd]
    assert all("the same bytes" in one for one in others)


def test_nothing_differs_in_the_ledger_of_an_identical_replay(data: Path, owner: User) -> None:
    outcome, row = shown(data, owner, None)
    assert outcome.verdict == "identical"
    ledger = ledger_of(owner, row, outcome.steps - 1)
    assert "the same bytes" in ledger and "other bytes" not in ledger and "differ" not in ledger
