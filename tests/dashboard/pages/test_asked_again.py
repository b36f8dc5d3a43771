"""A question whose tables were replaced just as it was asked is asked of the new ones; nobody has to ask again."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.contrib.auth.models import User

from dashboard import questions
from dashboard.models import Job
from dashboard.problems import Problem
from ingest.lake.askable import Asked

SQL = "SELECT count(*) > 0 AS some FROM epochs"


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Its first number is how many times more the tables are replaced before they can be read."""
    left, look_up = [0], questions._tables

    def tables(user: User, job: Job, sql: str) -> list[Asked]:
        left[0] -= 1
        gone = left[0] >= 0
        return [replace(one, files=("/gone.parquet",)) if gone else one for one in look_up(user, job, sql)]

    monkeypatch.setattr(questions, "_tables", tables)
    yield left


@pytest.mark.parametrize("times", range(questions.TRIES))
def test_new_tables_are_asked(replaced: list[int], times: int, job: Job, owner: User) -> None:
    replaced[0] = times
    assert questions.ask(owner, job, SQL, questions.Which())["rows"] == [[True]]


def test_what_is_replaced_again_and_again_is_said(replaced: list[int], job: Job, owner: User) -> None:
    replaced[0] = 99
    with pytest.raises(Problem, match="written anew while they were asked"):
        questions.ask(owner, job, SQL, questions.Which())
    assert replaced[0] == 99 - questions.TRIES
