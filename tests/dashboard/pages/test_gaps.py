"""Gaps of a recording are on its page, and stand in the log where they were."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User

import clonoscope
from dashboard.models import Job
from dashboard.queries.determinants import ROWS_SHOWN
from tests.clonoscope.recorded import recording
from tests.dashboard.pages.conftest import as_seen_by

ANSWERS = ROWS_SHOWN + 20


@pytest.fixture
def job(tmp_path: Path, shelved: Callable[[Path], Job]) -> Job:
    """Gaps at the beginning, behind the fifth answer, at a page's end, and behind the last."""
    with recording(tmp_path / "recorded") as made, made.task("orders").epoch(0) as task:
        for number in range(ANSWERS):
            if number in (0, 5, ROWS_SHOWN):
                task.log.gap(f"<b>before {number}</b>")
            clonoscope.time_ns()
        task.log.gap("at the end")
    return shelved(made.dump(tmp_path / "orders.zip"))


def shown(page: str) -> list[str]:
    """Numbers of determinants, and gaps between them."""
    return [
        number or f"gap {why}" for number, why in re.findall(r'id="seq-(\d+)"|before byte [^:]*: (.*?)\. What', page)
    ]


def test_gaps_are_on_the_jobs_page_as_text(job: Job, owner: User) -> None:
    page = as_seen_by(owner).get(f"/jobs/{job.id}/").content.decode()
    assert "4 gaps" in page and "no replay past one is called identical" in page
    assert "&lt;b&gt;before 5&lt;/b&gt;" in page and "<b>before" not in page


def test_gaps_stand_in_the_log_where_they_were(job: Job, owner: User) -> None:
    client = as_seen_by(owner)
    first = shown(client.get(f"/jobs/{job.id}/logs/").content.decode())
    gap = "gap &lt;b&gt;before {}&lt;/b&gt;"
    assert first[:9] == [gap.format(0), "0", "1", "2", "3", "4", gap.format(5), "5", "6"]
    assert first[-1] == str(ROWS_SHOWN - 1)
    second = shown(client.get(f"/jobs/{job.id}/logs/?seq={ROWS_SHOWN}").content.decode())
    assert second[:2] == [gap.format(ROWS_SHOWN), str(ROWS_SHOWN)]
    assert second[-2:] == [str(ANSWERS - 1), "gap at the end"]
