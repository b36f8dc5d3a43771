"""Event time: the least of the inputs that are not idle, never back, and what a source says of its records."""

from __future__ import annotations

import json
from random import Random

import pytest

from replay.errors import ReplayError
from replay.model import ChannelId
from replay.runtime.body.watermarks import IDLE, NO_WATERMARK, InputWatermarks, SourceWatermarks

CHANNELS = tuple(ChannelId(f"source.{i}>map.0") for i in range(3))


def inputs() -> InputWatermarks:
    return InputWatermarks(CHANNELS)


def test_the_least_of_the_inputs_counts() -> None:
    one = inputs()
    one.take(0, 10)
    one.take(1, 20)
    assert one.current_ms is None, "the third has said nothing yet"
    one.take(2, 15)
    assert one.current_ms == 10
    one.take(0, 30)
    assert one.current_ms == 15


def test_an_idle_input_is_not_waited_for_until_it_is_there_again() -> None:
    one = inputs()
    one.take(0, 10)
    one.take(1, 20)
    one.take(2, IDLE)
    assert (one.current_ms, one.idle) == (10, False)
    one.take(0, 40)
    assert one.current_ms == 20
    one.take(2, NO_WATERMARK)
    assert one.current_ms == 20, "it has nothing to say of what has passed"
    one.take(1, 50)
    assert one.current_ms == 20
    one.take(2, 30)
    assert one.current_ms == 30


def test_where_all_are_idle_the_furthest_counts() -> None:
    one = inputs()
    one.take(0, 40)
    for i in range(3):
        one.take(i, IDLE)
    assert (one.current_ms, one.idle) == (40, True)


@pytest.mark.parametrize("seed", range(40))
def test_event_time_never_goes_back_and_a_snapshot_holds_all_of_it(seed: int) -> None:
    draw, one = Random(seed), inputs()
    last = NO_WATERMARK
    for _ in range(300):
        one.take(draw.randrange(3), draw.choice((IDLE, NO_WATERMARK, draw.randrange(100))))
        current = NO_WATERMARK if one.current_ms is None else one.current_ms
        assert current >= last, f"seed {seed}"
        last = current
        restored = inputs()
        restored.restore(*json.loads(json.dumps(one.snapshot())))
        assert (restored.current_ms, restored.idle) == (one.current_ms, one.idle), f"seed {seed}"


def test_a_sources_watermark_lies_before_whatever_may_still_come() -> None:
    source = SourceWatermarks({"every_ms": 5, "out_of_order_ms": 3}, ingestion=False)
    assert source.next() is None
    source.reached(100)
    source.reached(98)
    assert source.next() == 96, "a record of 97 may still come, one of 96 would be late"
    assert source.next() is None and source.current_ms == 96


def test_a_source_falls_idle_once_and_says_nothing_until_it_reads_again() -> None:
    source = SourceWatermarks({"idle_after_ms": 5}, ingestion=False)
    source.reached(100)
    assert not source.falls_idle(1)
    assert source.falls_idle(1)
    assert not source.falls_idle(1), "it is idle already"
    source.reached(200)
    assert source.next() is None
    source.idle = False
    assert source.next() == 199
    again = SourceWatermarks({}, ingestion=False)
    again.restore(json.loads(json.dumps(source.snapshot())))
    assert again.snapshot() == source.snapshot()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"every_ms": 0}, "the option every_ms of a source's watermarks is 0"),
        ({"every_records": "3"}, "the option every_records of a source's watermarks is '3'"),
        ({"out_of_order_ms": -1}, "the option out_of_order_ms of a source's watermarks is -1"),
        ({"idle_after_ms": True}, "the option idle_after_ms of a source's watermarks is True"),
        ({"each_ms": 3}, "a source's watermarks have no option 'each_ms'"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(ReplayError) as refused:
        SourceWatermarks(options, ingestion=False)
    assert sentence in str(refused.value)
