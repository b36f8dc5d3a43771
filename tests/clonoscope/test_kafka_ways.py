"""The ways in which a consumer reads and commits: batches, seeks, stored offsets, transactions, rebalances, hashes."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clonoscope.adapters import kafka
from clonoscope.errors import WrongUse
from clonoscope.reading import AttemptLog, attempts_of
from replay.guarantees.observed.delivery import delivery
from tests.clonoscope.adapted import dumped
from tests.clonoscope.engines import Broker, broker, run_to_the_end, start
from tests.clonoscope.recorded import takes_in

FEW = 5
Ran = Callable[[str], Path]


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with broker(200) as made:
        yield made


@pytest.fixture
def ran(running: Broker, tmp_path: Path) -> Ran:
    """Runs a way, and gives its recording."""

    def run(way: str) -> Path:
        assert run_to_the_end(start("kafka_ways.py", way, running.address, tmp_path)) == ["done"]
        return tmp_path / "ways"

    return run


def logs(recording: Path, task: str = "orders.0") -> list[AttemptLog]:
    return [one for one in attempts_of(recording) if one.task == task]


def told(log: AttemptLog) -> list[Any]:
    """Epochs as they began and ended, how many records were taken by then, and how the attempt ended."""
    found: list[Any] = []
    for one in log.entries():
        if one.kind == "epoch":
            found.append(("begins", one.epoch, one.taken))
        elif one.kind == "epoch-end":
            found.append(("ends", one.fields["checkpoint"], one.taken))
        elif one.kind == "end":
            found.append((one.fields["how"], one.fields.get("cause")))
    return found


def test_batches_are_taken_as_they_are_looped_over_and_wholly_by_the_next_call(ran: Ran) -> None:
    (log,) = logs(ran("batches"))
    assert told(log) == [
        ("begins", 0, 0),
        ("ends", FEW, FEW),
        ("begins", FEW, FEW),
        ("ends", 3 * FEW, 3 * FEW),
        ("closed", None),
    ]
    asked = [one.taken for one in log.entries() if one.kind == "call"]
    assert asked == [1, 2, 3, 4, 5, 6], "each number is asked for by the message that is looped to"


def test_what_is_read_once_more_is_another_attempt_with_the_same_epoch(ran: Ran) -> None:
    first, second, third = logs(ran("again"))
    assert told(first) == [
        ("begins", 0, 0),
        ("ends", FEW, FEW),
        ("begins", FEW, FEW),
        ("superseded", f"record {FEW} is read once more"),
    ]
    assert told(second) == [("begins", FEW, 0), ("superseded", "record 0 is read once more")]
    assert told(third) == [("begins", 0, 0), ("closed", None)]


def test_a_commit_of_stored_offsets_ends_the_epoch_at_what_was_stored(ran: Ran) -> None:
    (log,) = logs(ran("stored"))
    assert told(log) == [("begins", 0, 0), ("ends", FEW, FEW), ("begins", FEW, FEW), ("closed", None)]


def test_a_transaction_commits_what_was_read_and_an_aborted_one_does_not(ran: Ran, tmp_path: Path) -> None:
    recording = ran("transactions")
    first, second = logs(recording)
    again = f"record {FEW} is read once more"
    assert told(first) == [("begins", 0, 0), ("ends", FEW, FEW), ("begins", FEW, FEW), ("superseded", again)]
    assert told(second) == [("begins", FEW, 0), ("ends", 2 * FEW, FEW), ("closed", None)]
    with dumped(recording, tmp_path / "out.zip") as bundle:
        ids = [line["id"] for attempt in (0, 1) for line in bundle.sink("orders.0", attempt)]
        assert ids == [f"c{2 * offset % 5}" for offset in (*range(2 * FEW), *range(FEW, 2 * FEW))]
        sent = [(one["attempt"], one["outputs"]) for one in bundle.events() if one["type"] == "outputs-sent"]
        verdict = delivery(bundle)
        assert sent == [(0, FEW), (1, FEW)], "what was flushed and then aborted never left"
        assert verdict is not None and verdict["verdict"] == "undecided", verdict
        ((one,),) = [takes_in(bundle, "orders.0", 1, FEW)[:1]]
        assert one.first_offset == FEW


def test_a_client_that_commits_by_itself_tells_of_it(ran: Ran) -> None:
    (log,) = logs(ran("by_itself"))
    assert told(log)[:3] == [("begins", 0, 0), ("ends", FEW, FEW), ("begins", FEW, FEW)]


def test_a_partition_that_is_taken_away_ends_its_attempt(ran: Ran) -> None:
    recording = ran("rebalance")
    ends = [told(log)[-1] for task in ("orders.0", "orders.1") for log in logs(recording, task)]
    assert ("superseded", "the partition was taken away before what it had read was committed") in ends
    assert {how for how, _ in ends} <= {"superseded", "handed-over"}


def test_threads_that_take_turns_give_each_what_follows_from_its_own_record(ran: Ran) -> None:
    recording = ran("threads")
    for task in range(2):
        (log,) = logs(recording, f"orders.{task}")
        given = [(one.taken, one.fields["text"][0]) for one in log.entries() if one.kind == "output"]
        assert given == [(taken, str(task)) for taken in range(1, FEW + 1)]


def test_records_whole_have_their_hash_and_nothing_that_is_redacted(ran: Ran, tmp_path: Path) -> None:
    recording = ran("whole")
    orders = [{"order": 2 * n, "item": f"sku-{2 * n % 7}", "count": 2 * n % 3 + 1} for n in range(FEW)]
    digest = hashlib.sha256()
    for order in orders:
        data = json.dumps(order).encode()
        digest.update(len(data).to_bytes(4, "big") + data)
    (log,) = logs(recording)
    (found,) = [one.fields for one in log.entries() if one.kind == "hash"]
    assert found["records"] == FEW
    assert "sha256" not in found, "values could be guessed by it"
    assert len(found["keyed"]) == len(digest.hexdigest()) and found["keyed"] != digest.hexdigest()
    with dumped(recording, tmp_path / "out.zip") as bundle:
        records = [line["record"] for line in bundle.source("orders.0", 0)]
    assert [(key, value["order"]) for key, _, value in records] == [(f"c{2 * n % 5}", 2 * n) for n in range(FEW)]
    assert all(set(value["item"]) == {"redacted"} for _, _, value in records)
    assert not any(b"sku-" in path.read_bytes() for path in recording.rglob("*.seg"))


@pytest.mark.parametrize("clients", [(), (object(),)])
def test_what_is_no_client_is_refused_before_anything_is_recorded(clients: tuple[object, ...], tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="client"):
        kafka.record("orders", *clients, dir=tmp_path)
    assert list(tmp_path.iterdir()) == []
