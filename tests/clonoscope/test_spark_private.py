"""What may not leave a Spark job's workers is nowhere: with `allow` and `key`, by wrapping and by the daemon."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replay.bundle.reader import open_bundle
from tests.clonoscope.recorded import calls_in
from tests.clonoscope.spark_once import CUSTOMERS, RECORDINGS, folder_of_forms
from tests.clonoscope.test_privacy import KEY, forms, found_in

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
VERTICES = {"by_daemon": "people-greeted.0", "by_file": "people-by_frames.0", "by_bytes": "people-by_batch.0"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of_forms(tmp_path_factory) / "people"


def values_in(folder: Path, name: str, member: str) -> list[Any]:
    """Of the records of all attempts, in their order."""
    with open_bundle(folder / f"{name}.zip") as bundle:
        task = VERTICES[name]
        lines = [
            json.loads(line)
            for attempt in bundle.attempts(task)
            for epoch in bundle.epochs(task, attempt, "main")
            if (path := f"tasks/{task}/{attempt}/{member}/{epoch}.ndjson") in bundle.members
            for line in bundle.members.read(path).splitlines()
        ]
    return [line["record"] for line in lines]


def test_no_customer_is_in_anything_that_was_written(folder: Path) -> None:
    assert found_in(folder / "recordings", CUSTOMERS) == []
    for name in RECORDINGS:
        (folder / f"only-{name}").mkdir()
        (folder / f"only-{name}" / "bundle.zip").write_bytes((folder / f"{name}.zip").read_bytes())
        assert found_in(folder / f"only-{name}", CUSTOMERS) == []
    # The search finds them where they are.
    assert {secret for _, secret, _ in found_in(folder / "in", CUSTOMERS)} == set(CUSTOMERS)


def test_what_is_allowed_is_there(folder: Path) -> None:
    assert [record[2][0]["order"] for record in values_in(folder, "by_daemon", "source")][-4:] == [4, 5, 6, 7]
    assert [record[2]["order"] for record in values_in(folder, "by_file", "source")][-4:] == [4, 5, 6, 7]
    given = values_in(folder, "by_bytes", "sink")
    assert [record[2]["order"] for record in given] == list(range(8))


def test_of_results_nothing_is_recorded(folder: Path) -> None:
    for name in RECORDINGS:
        with open_bundle(folder / f"{name}.zip") as bundle:
            told = [
                json.loads(line)
                for member in bundle.members.names("tasks/")
                if "/border/" in member
                for line in bundle.members.read(member).splitlines()
            ]
        assert told and {(one["is"], one["whole"], one["results"]) for one in told} == {("begin", False, False)}


def tokens_of(folder: Path, name: str) -> dict[int, str]:
    """What stands for an order's customer."""

    def of(record: Any) -> Iterator[tuple[int, str]]:
        if isinstance(record, list):
            order, customer = record
            return iter([(order["order"], customer["redacted"])])
        (order,) = (one for one in record.values() if not isinstance(one, dict))
        # The greeting is a customer's too; the customer's own token comes first.
        return iter([(order, next(one["redacted"] for one in record.values() if isinstance(one, dict)))])

    return dict(pair for record in values_in(folder, name, "source") for pair in of(record[2]))


def test_equal_customers_are_equal_tokens_in_every_process_and_by_every_way(folder: Path) -> None:
    by_daemon, by_file, by_bytes = (tokens_of(folder, name) for name in RECORDINGS)
    assert by_daemon == by_file == by_bytes and len(set(by_daemon.values())) == len(CUSTOMERS)
    with open_bundle(folder / "by_daemon.zip") as bundle:
        task, last = VERTICES["by_daemon"], max(bundle.attempts(VERTICES["by_daemon"]))
        calls = [one for one in calls_in(bundle, task, last, 1) if one["call"] == "external"]
        # Names of an answer become tokens as well: that of the customer is among its values.
        answered = [{one["redacted"] for one in call["value"].values()} for call in calls]
        assert [by_daemon[order] in found for order, found in zip(range(4, 8), answered, strict=True)] == [True] * 4
        (failed,) = [one for one in bundle.events() if one["type"] == "task-failed" and one["task"] == task]
        assert failed["cause"].startswith("LookupError: redacted ")
        assert bundle.manifest.raw["redactions"] == ["!id", "!order", "*"]


def test_the_key_is_in_nothing_that_was_written_and_in_no_command(folder: Path) -> None:
    kept = {folder / "key"}
    looked_at = [path for path in folder.rglob("*") if path.is_file() and path not in kept]
    assert any("events" in path.parts for path in looked_at) and folder / "spark_forms.log" in looked_at
    of_key = set(forms(KEY.decode()))
    for path in looked_at:
        data = path.read_bytes()
        assert not [form for form in of_key if form in data], path
    assert found_in(folder / "recordings", [KEY.decode()]) == []
    # Of the processes it was seen which they are, by what stands in their command lines.
    assert b"spark_forms.py" in (folder / "processes").read_bytes()
