"""A plain consumer of Kafka, recorded, killed and recovered, against librdkafka's own test broker."""

from pathlib import Path

import pytest

from replay.bundle.reader import Bundle
from tests.clonoscope.adapted import answers, dumped, gaps, place_of, shown, side_by_side
from tests.clonoscope.engines import Broker, broker, kill_after, narrow, run_to_the_end, start
from tests.clonoscope.recorded import takes_in

ORDERS = 300
KILLED_AT = 27
COMMIT_EVERY = 10


class Recovered:
    """A job that was killed, and ran once more in the same consumer group."""

    def __init__(self, folder: Path, broker: Broker):
        self.recording = folder / "prices"
        job = start("kafka_prices.py", broker.address, folder)
        narrow(job)
        self.before = kill_after(job, KILLED_AT)
        self.after = run_to_the_end(start("kafka_prices.py", broker.address, folder))
        self.prices = broker.read("prices", len(self.before) // COMMIT_EVERY * COMMIT_EVERY + len(self.after))


@pytest.fixture(scope="module")
def recovered(tmp_path_factory: pytest.TempPathFactory) -> Recovered:
    with broker(ORDERS) as running:
        return Recovered(tmp_path_factory.mktemp("kafka"), running)


def said_of(said: list[list[float]], partition: int) -> list[float]:
    return [value for one, _, *values in said if one == partition for value in values]


def given(recording: Path, task: str, attempt: int) -> list[float]:
    return [value for *_, value in answers(recording, task, attempt)]


def committed_at(said: list[list[float]], partition: int) -> list[int]:
    """The partition's offset at each commit, of those that the job had come to by what it said; 0 is the first."""
    batches = range(0, len(said) + 1, COMMIT_EVERY)
    return sorted({sum(one == partition for one, *_ in said[:batch]) for batch in batches})


@pytest.mark.parametrize("partition", [0, 1])
def test_what_a_killed_job_was_given_is_there(recovered: Recovered, partition: int) -> None:
    assert gaps(recovered.recording) == []
    task, said = f"orders.{partition}", said_of(recovered.before, partition)
    if said:
        # Between an answer and the job's word about it there is a moment.
        found = given(recovered.recording, task, 0)
        assert found[: len(said)] == said and len(found) - len(said) <= 2
        assert {epoch for epoch, *_ in answers(recovered.recording, task, 0)} <= {
            *committed_at(recovered.before, partition)
        }
    again = given(recovered.recording, task, 1 if said else 0)
    assert again == said_of(recovered.after, partition) != []


@pytest.mark.parametrize("partition", [0, 1])
def test_the_second_attempt_begins_where_the_broker_had_the_commit(
    recovered: Recovered, partition: int, tmp_path: Path
) -> None:
    task, offsets = f"orders.{partition}", [offset for one, offset, *_ in recovered.after if one == partition]
    with dumped(recovered.recording, tmp_path / "prices.zip") as bundle:
        assert sorted(one.id for one in bundle.manifest.tasks) == ["orders.0", "orders.1"]
        *_, last = bundle.attempts(task)
        assert min(bundle.epochs(task, last, "main")) == offsets[0]
        taken = [one for epoch in bundle.epochs(task, last, "main") for one in takes_in(bundle, task, last, epoch)]
        assert sorted(at for one in taken for at in range(one.first_offset, one.first_offset + one.records)) == offsets
        started = [one for one in bundle.events() if one["type"] == "attempt-started" and one["task"] == task]
        assert [one["checkpoint"] for one in started] == ([0, offsets[0]] if last else [0])
        commits = committed_at(recovered.before, partition)
        acknowledged = [
            one["checkpoint"]
            for one in bundle.events()
            if one["type"] == "checkpoint-acknowledged" and (one["task"], one["attempt"]) == (task, 0)
        ]
        if last:
            # Of the last commit, only the broker knows whether it came about.
            assert offsets[0] in commits and commits[1:-1] == [at for at in acknowledged if at < commits[-1]]


def test_outputs_are_those_of_the_topic(recovered: Recovered, tmp_path: Path) -> None:
    with dumped(recovered.recording, tmp_path / "prices.zip") as bundle:
        _outputs_are_those_of_the_topic(bundle, recovered)


def _outputs_are_those_of_the_topic(bundle: Bundle, recovered: Recovered) -> None:
    """What the second attempts produced stands in the topic, with the customer as key, and the order that it is of."""
    in_topic = {(key, value["order"], value["at"]): value for _, _, key, value in recovered.prices}
    for task in ("orders.0", "orders.1"):
        for attempt in bundle.attempts(task):
            for line in bundle.sink(task, attempt):
                key, _, value = line["record"]
                if (key, value["order"], value["at"]) in in_topic:
                    assert in_topic.pop((key, value["order"], value["at"])) == value
                assert line["topic"] == "prices" and line["source"] == [[task, value["order"] // 2]]
    assert in_topic == {}


def test_the_product_shows_partitions_and_names_the_line_that_differs(recovered: Recovered, tmp_path: Path) -> None:
    partition = recovered.before[-1][0]
    task, first = f"orders.{partition}", next(offset for one, offset, *_ in recovered.after if one == partition)
    with dumped(recovered.recording, tmp_path / "prices.zip") as bundle:
        report = side_by_side(bundle, task)
    page = shown(tmp_path / "prices.zip", tmp_path)
    killed = {f"orders.{one}" for one, *_ in recovered.before}
    assert page.attempts == {one: 2 if one in killed else 1 for one in ("orders.0", "orders.1")}
    assert {(failure.task, failure.attempt) for failure in page.failures} == {(one, 0) for one in killed}
    (lane,) = [one for one in page.lanes if one["task"] == task]
    assert [(one["state"], one["attempt"]) for one in lane["spans"]] == [
        ("Running", 0),
        ("Failed", 0),
        ("Running", 1),
    ]
    refs = {(row["task"], row["attempt"], row["ref_offset"]) for row in page.rows["sources"]}
    assert {(task, 0, first), (task, 1, first)} <= refs
    (difference,) = report["differences"]
    assert report["since_epoch"] == first and difference["number"] == 1
    assert difference["first"]["line"] == place_of("kafka_prices.py", "priced_at = clonoscope.time()")
    assert difference["first"]["record_count"] == 1
