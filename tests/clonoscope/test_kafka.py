"""A plain consumer of Kafka, recorded, killed and recovered, against librdkafka's own test broker."""

from pathlib import Path
from typing import Any

import pytest

from replay.guarantees.outside import How, outside
from replay.guarantees.outside.addresses import open_address
from replay.guarantees.outside.readers import READERS
from tests.clonoscope.adapted import dumped
from tests.clonoscope.engines import broker
from tests.clonoscope.of_topics import COMMIT_EVERY, Recovered

ORDERS = 300
JOB = "kafka_prices.py"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recovered, list[Any]]:
    folder = tmp_path_factory.mktemp("kafka")
    with broker(ORDERS) as running:
        recovered = Recovered.run(folder / "prices", JOB, running.address, folder)
        produced = len(recovered.before) // COMMIT_EVERY * COMMIT_EVERY + len(recovered.after)
        running.dump("prices", folder / "prices.jsonl")
        running.dump("orders", folder / "orders.jsonl")
        return recovered, running.read("prices", produced)


@pytest.mark.parametrize("partition", [0, 1])
def test_what_a_killed_job_was_given_is_there(ran: tuple[Recovered, list[Any]], partition: int) -> None:
    ran[0].check_answers(partition)


@pytest.mark.parametrize("partition", [0, 1])
def test_the_second_attempt_begins_where_the_broker_had_the_commit(
    ran: tuple[Recovered, list[Any]], partition: int, tmp_path: Path
) -> None:
    ran[0].check_second_attempt(partition, tmp_path / "out.zip")


def test_outputs_are_those_of_the_topic(ran: tuple[Recovered, list[Any]], tmp_path: Path) -> None:
    """All that stands in the topic is recorded, with the customer as key, and the order that it is of."""
    recovered, prices = ran
    in_topic = {(value["order"], value["at"]): [key, value] for _, _, key, value in prices}
    with dumped(recovered.recording, tmp_path / "out.zip") as bundle:
        for task in ("orders.0", "orders.1"):
            for line in (one for attempt in bundle.attempts(task) for one in bundle.sink(task, attempt)):
                key, _, value = line["record"]
                assert line["topic"] == "prices" and line["source"] == [[task, value["order"] // 2]]
                assert in_topic.pop((value["order"], value["at"]), [key, value]) == [key, value]
    assert in_topic == {}


def test_the_topic_tells_which_orders_are_priced_twice_and_the_job_alone_does_not(
    ran: tuple[Recovered, list[Any]], tmp_path: Path
) -> None:
    recovered, _ = ran
    topic = recovered.recording.parent / "prices.jsonl"
    recovered.check_delivery(topic, "headers.partition,headers.offset", tmp_path / "out.zip")
    # The same by the number of the order, which the recording has only references to.
    prices, orders = (
        open_address(f"kafka-dump:{topic.with_name(name)}", READERS) for name in (topic.name, "orders.jsonl")
    )
    with dumped(recovered.recording, tmp_path / "again.zip") as bundle:
        by_place = outside(bundle, prices, How.parse("headers.partition,headers.offset", "partition,offset"))
        by_number = outside(bundle, prices, How.parse("order", "order"), orders)
        alone = outside(bundle, prices, How.parse("order", "order"))
    assert (by_number.verdict, by_number.numbers) == (by_place.verdict, by_place.numbers), by_number
    assert alone.verdict == "undecided" and "a dump of the topic (--sources)" in alone.lacks[0].wants, alone


def test_the_product_shows_partitions_and_names_the_line_that_differs(
    ran: tuple[Recovered, list[Any]], tmp_path: Path
) -> None:
    ran[0].check_page(JOB, "priced_at = clonoscope.time()", tmp_path)


def test_a_retry_of_what_was_read_but_not_committed_gives_the_same_prices(tmp_path: Path) -> None:
    with broker(ORDERS) as running:
        recovered = Recovered.run(tmp_path / "prices", JOB, running.address, tmp_path, "replay")
    first = {(partition, offset): answers for partition, offset, *answers in recovered.before}
    again = {(partition, offset): answers for partition, offset, *answers in recovered.after}
    assert len(again) == len(recovered.after) and {*first, *again} == {(n % 2, n // 2) for n in range(ORDERS)}
    both = first.keys() & again.keys()
    # What had been committed when it was killed is not read again.
    assert len(both) == len(recovered.before) + len(recovered.after) - ORDERS
    assert {place: first[place] for place in both} == {place: again[place] for place in both}
