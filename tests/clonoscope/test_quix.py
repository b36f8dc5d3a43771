"""An application of Quix Streams, recorded, killed and recovered, against librdkafka's own test broker."""

import json
from pathlib import Path

import pytest

from clonoscope.reading import attempts_of
from tests.clonoscope.adapted import dumped
from tests.clonoscope.engines import broker, kill_after, run_to_the_end, start, start_paced
from tests.clonoscope.of_topics import KILLED_AT, Recovered, acknowledged

ORDERS, FAILS_AT = 300, 12
JOB = "quix_totals.py"


@pytest.fixture(scope="module")
def recovered(tmp_path_factory: pytest.TempPathFactory) -> Recovered:
    folder = tmp_path_factory.mktemp("quix")
    with broker(ORDERS) as running:
        fixed = running.address, folder, folder / "state"
        killed = start_paced(JOB, *fixed, ORDERS)
        before = kill_after(killed, KILLED_AT)
        # It goes on until it has done what is left, which only the broker knows: what was committed is not done again.
        left = ORDERS - running.committed("totals")
        after = run_to_the_end(start(JOB, *fixed, left))
        running.dump("totals", folder / "totals.jsonl")
        return Recovered(folder / "totals", before, after)


@pytest.mark.parametrize("partition", [0, 1])
def test_what_a_killed_job_was_given_is_there(recovered: Recovered, partition: int) -> None:
    recovered.check_answers(partition)


@pytest.mark.parametrize("partition", [0, 1])
def test_the_second_attempt_begins_where_the_broker_had_the_commit(
    recovered: Recovered, partition: int, tmp_path: Path
) -> None:
    recovered.check_second_attempt(partition, tmp_path / "out.zip")


def test_the_product_shows_partitions_and_names_the_line_that_differs(recovered: Recovered, tmp_path: Path) -> None:
    recovered.check_page(JOB, "priced_at = clonoscope.time()", tmp_path)


def test_outputs_are_what_left_for_the_topic_and_for_the_sink(recovered: Recovered, tmp_path: Path) -> None:
    with dumped(recovered.recording, tmp_path / "out.zip") as bundle:
        for task, attempt in ((task, max(bundle.attempts(task))) for task in ("orders.0", "orders.1")):
            lines = list(bundle.sink(task, attempt))
            kinds = {name: [one for one in lines if one["topic"] == name] for name in ("totals", "ListSink")}
            offsets = recovered.offsets(recovered.after, int(task[-1]))
            for of_kind in kinds.values():
                assert [one["record"][2]["order"] // 2 for one in of_kind] == offsets
                assert [one["source"][0][1] for one in of_kind] == offsets
            assert len(lines) == 2 * len(offsets)


def test_the_topic_tells_which_orders_are_there_twice_and_the_job_alone_does_not(
    recovered: Recovered, tmp_path: Path
) -> None:
    topic = recovered.recording.parent / "totals.jsonl"
    recovered.check_delivery(topic, "of.0,of.1", tmp_path / "out.zip", outputs=2)


@pytest.mark.parametrize("partition", [0, 1])
def test_what_a_checkpoint_changed_is_the_state_that_follows_from_the_answers(
    recovered: Recovered, partition: int, tmp_path: Path
) -> None:
    """Totals by customer, over all that was committed: also those of an attempt that went on from the state before."""
    task = f"orders.{partition}"
    rates: dict[int, float] = {}
    with dumped(recovered.recording, tmp_path / "out.zip") as bundle:
        seen = 0
        for attempt in bundle.attempts(task):
            said = recovered.before if attempt < max(bundle.attempts(task)) else recovered.after
            rates |= {offset: rate for one, offset, _, rate in said if one == partition}
            for checkpoint in acknowledged(bundle, task, attempt):
                state = bundle.state(task, attempt, checkpoint)
                assert state is not None
                changed = state["operator"]["default"]["default"]["changed"]
                seen += len(changed)
                for key, total in changed.items():
                    assert json.loads(key.partition("|")[2]) == "total"
                    assert total == pytest.approx(total_of(key.partition("|")[0], partition, checkpoint, rates))
    assert seen > 0


def total_of(customer: str, partition: int, until: int, rates: dict[int, float]) -> float:
    """As the broker's orders have it: the n-th of a partition is order 2n + partition."""
    numbers = ((offset, 2 * offset + partition) for offset in range(until))
    return sum(rates[offset] * (number % 3 + 1) for offset, number in numbers if f"c{number % 5}" == customer)


@pytest.mark.parametrize(("where", "ends"), [("function", ("failed", "ValueError: no price for ")), ("sink", None)])
def test_a_function_that_raises_ends_its_attempt_and_what_is_no_records_doing_is_not_blamed_on_one(
    where: str, ends: tuple[str, str] | None, tmp_path: Path
) -> None:
    with broker(ORDERS) as running:
        assert run_to_the_end(start("quix_ends.py", where, running.address, tmp_path)) == ["done"]
    logs = [log for log in attempts_of(tmp_path / "ends") if log.task.startswith("orders.")]
    entries = [one for log in logs for one in log.entries()]
    # One for each record, and none for sinks, periodic tasks and what came after the end.
    assert len([one for one in entries if one.kind == "call"]) == FAILS_AT
    told = [(one.fields["how"], one.fields["cause"].partition("for ")) for one in entries if one.kind == "end"]
    failed = [(how, "".join(cause[:2])) for how, cause in told if how == "failed"]
    assert failed == ([] if ends is None else [ends])
