"""What is gone from the very end of an attempt: named where anything tells of it, and else an undamaged job could have
left the same, by an argument that asks no audit."""

import json
from dataclasses import replace
from random import Random

import pytest

from bench.truths.plants import Plant, determinant_changed, spans_of
from bench.truths.traceless import why_no_trace
from bench.truths.worlds import Known, known_world
from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.reader import Bundle
from replay.guarantees.ledger import delivery, processing
from replay.log.codec import decode_all, encode
from replay.log.determinants import IgnoreCheckpoint, Serializable, TimerTrigger, Timestamp
from replay.model import json_bytes, read_json


def without(known: Known, kind: str, member: str, which: int) -> Plant:
    """One frame, determinant or line of it is gone."""
    data = known.members[member]
    begin, end = spans_of(member, data)[which]
    return Plant(kind, member, begin, {**known.members, member: data[:begin] + data[end:]})


def sentences(members: dict[str, bytes]) -> list[str]:
    return [lack.sentence for lack in processing(Bundle(MembersInMemory(members))).lacks]


def wanted(members: dict[str, bytes]) -> list[str]:
    bundle = Bundle(MembersInMemory(members))
    return [lack.wants for section in (processing(bundle), delivery(bundle)) for lack in section.lacks]


NAMED = [
    pytest.param(9_300_005, "sink.0/0/sink/0.ndjson", -1, id="an aborted transaction had one write more"),
    pytest.param(9_600_013, "sink.1/0/sink/0.ndjson", -1, id="writes of the next epoch go on with a later number"),
    pytest.param(9_300_013, "source.0/0/main/0.det", 0, id="the log goes on with another choice"),
    pytest.param(9_300_010, "highest.1/0/received-1/0.rcv", -1, id="the log goes on, and no buffer is left"),
    pytest.param(9_300_034, "source.0/0/source/0.ndjson", 0, id="a log names a buffer that nothing makes"),
    pytest.param(9_300_021, "sink.0/0/sink/0.ndjson", -1, id="a record was taken, and no line tells of its output"),
    pytest.param(9_300_016, "select.0/0/sent-0/0.buf", -1, id="a buffer was sent that was never cut"),
    pytest.param(9_300_003, "source.0/0/source/0.ndjson", -1, id="a metric counts one record more"),
    pytest.param(9_300_028, "source.1/0/source/1.ndjson", -1, id="a metric counts it, and storage went on"),
    pytest.param(9_300_054, "split.0/0/sent-0/0.dlt", -1, id="the storage had its determinant, so it went out"),
    pytest.param(9_300_077, "map-1.1/2/sent-0/0.dlt", -1, id="the buffer before went out as it was cut"),
    pytest.param(9_300_062, "source.0/0/source/0.ndjson", -1, id="a part of it went out, and of another one elsewhere"),
    pytest.param(9_510_748, "source.0/0/main/0.det", -1, id="the log of the next epoch is there, and is empty"),
    pytest.param(9_300_037, "sink.0/0/received-0/5.rcv", -1, id="an event counts one arrival more"),
    pytest.param(9_520_121, "dispatch.0/0/received-0/0.rcv", -1, id="it passed on what that buffer had brought"),
    pytest.param(9_520_353, "map-1.0/0/received-0/2.rcv", -1, id="the same, of one that it had taken"),
    pytest.param(9_560_061, "map-1.1/0/received-0/0.rcv", -1, id="it gave away what that buffer had brought"),
]


@pytest.mark.parametrize(("seed", "member", "which"), NAMED)
def test_what_is_gone_from_an_end_is_named_by_its_member(seed: int, member: str, which: int) -> None:
    known = known_world(seed)
    plant = without(known, "", f"tasks/{member}", which)
    assert not any(plant.member in one for one in wanted(known.members))
    assert any(plant.member in one for one in wanted(plant.members)), wanted(plant.members)


def test_what_was_sent_before_something_that_arrived_has_arrived() -> None:
    """Of an attempt that took nothing, and was rolled back before what was sent had to have come."""
    known, name = known_world(9_830_202), "tasks/sink.2/2/received-0/0.rcv"
    assert not any(name in one for one in wanted(known.members))
    for which in (0, 3):
        assert any(name in one for one in wanted(without(known, "", name, which).members))


def test_a_record_of_which_a_part_went_out_must_have_been_read() -> None:
    known, name = known_world(9_300_003), "tasks/source.0/0/source/0.ndjson"
    lines = known.members[name].splitlines(keepends=True)
    whole = b"".join(lines[:2])  # of the third a part is in the last buffer, and of the others nothing
    assert any(one == name for one in wanted({**known.members, name: whole}))


def test_a_log_that_is_not_what_its_recovery_was_given_is_named() -> None:
    known, name = known_world(9_300_028), "tasks/source.1/1/main/0.det"
    changed = determinant_changed(Random(0), name, known.members[name])
    assert changed is not None
    assert any(name in one for one in wanted({**known.members, name: changed[1]}))


def test_an_answer_that_a_later_one_replaced_binds_nobody() -> None:
    """Its channel was lost, and what was returned over the next one was less."""
    known = known_world(9_500_326)
    assert processing(known.bundle).verdict == known.truth.processing


def test_what_a_sink_took_as_the_job_ended_is_under_way() -> None:
    """What timers gave after the last checkpoint: nobody waits for it."""
    known = known_world(9_830_033)
    assert delivery(known.bundle).verdict == known.truth.delivery == "exactly once"


def test_what_a_sink_took_again_may_have_been_given_out_again() -> None:
    """Without the lines of the second time all that is there is as if each had been given out once."""
    known = known_world(9_500_062)
    assert known.truth.delivery == "at least once"
    gone = {name for name in known.members if name.startswith("tasks/sink.0/1/sink/")}
    assert gone
    found = delivery(Bundle(MembersInMemory({name: data for name, data in known.members.items() if name not in gone})))
    assert found.verdict == "undecided"


def test_what_a_sink_leaves_with_the_world_says_when_its_record_came() -> None:
    """What had come by when it was left goes with it, though that was a moment later."""
    known = known_world(9_545_015)
    assert processing(known.bundle).verdict == known.truth.processing == "exactly once"


def test_what_brings_a_whole_log_over_a_narrow_channel_takes_longer() -> None:
    """Nothing as large had arrived: small buffers do not say how long it may be on its way."""
    known = known_world(9_520_230)
    found = processing(known.bundle), delivery(known.bundle)
    assert [one.verdict for one in found] == ["exactly once"] * 2 == [known.truth.processing, known.truth.delivery]


def test_what_runs_to_the_end_may_do_more_than_events_tell() -> None:
    """Buffers were cut and taken behind the last event."""
    known = known_world(9_545_336)
    found = processing(known.bundle), delivery(known.bundle)
    assert [one.verdict for one in found] == ["exactly once"] * 2 == [known.truth.processing, known.truth.delivery]


def test_what_a_timer_gave_of_a_record_that_came_again_counts_twice() -> None:
    """Once to the sink that lives on, and once more to another, after choices were lost; the record itself but once."""
    known = known_world(9_600_052)
    found = processing(known.bundle)
    assert found.verdict == known.truth.processing == "at least once"
    assert found.claims[0].sentence == (
        "Record 2 of source.2 was taken from map-1.2>sink.2 of an execution that was undone, "
        "and given to sink again by the one that counts."
    )


def test_what_was_sent_as_its_channel_broke_need_not_have_arrived() -> None:
    """Where nothing is sent again (none), an epoch may pass of which nothing came over one input."""
    known = known_world(9_510_972)
    assert delivery(known.bundle).verdict == known.truth.delivery == "at most once"


def test_a_call_that_gave_a_value_and_raised_is_named() -> None:
    known, name = known_world(9_300_073), "tasks/map-2.0/0/main/0.det"
    data = known.members[name]
    begin, _ = spans_of(name, data)[-1]
    _, _, call = list(decode_all(data))[-1]
    assert isinstance(call, Serializable)
    both = Serializable.of(3, json_bytes({**read_json(call.content), "value": 1}))
    assert not any(name in one for one in wanted(known.members))
    assert any(name in one for one in wanted({**known.members, name: data[:begin] + encode(both)}))


@pytest.mark.parametrize(
    ("seed", "member"),
    [
        pytest.param(9_300_074, "source.0/0/main/1.det", id="suspected"),
        pytest.param(9_545_292, "source.1/0/main/2.det", id="ran to the end"),
    ],
)
def test_what_is_read_off_a_clock_last_leaves_no_trace(seed: int, member: str) -> None:
    known, name = known_world(seed), f"tasks/{member}"
    data = known.members[name]
    spans = list(decode_all(data))
    last, other = ((at, length, one) for at, length, one in (spans[-1], spans[1]))
    for (at, length, one), is_traceless in ((last, True), (other, False)):
        later = encode(
            replace(one, **({"value": one.value + 7} if isinstance(one, Timestamp) else {"record_count": 7}))
        )
        changed = {**known.members, name: data[:at] + later + data[at + length :]}
        why = why_no_trace(known.members, Plant("determinant changed", name, at, changed))
        assert (why is not None) == is_traceless, why


@pytest.mark.parametrize(("later", "is_traceless"), [(1, True), (2, False)])
def test_a_timer_fired_before_what_was_read_when_its_clock_says_so(later: int, is_traceless: bool) -> None:
    """It fired between the second but last record and the last but one, in whose millisecond it read the clock."""
    known, name = known_world(9_600_428), "tasks/source.0/0/main/0.det"
    (at, length, timer), _ = list(decode_all(data := known.members[name]))[1:]
    assert isinstance(timer, TimerTrigger)
    moved = data[:at] + encode(replace(timer, record_count=timer.record_count + later)) + data[at + length :]
    changed = {**known.members, name: moved}
    plant = Plant("determinant changed", name, at, changed)
    assert (why_no_trace(known.members, plant) is not None) == is_traceless
    assert any("the clock of source.0 read" in one for one in sentences(changed)) != is_traceless


def test_metrics_say_nothing_of_what_a_recording_may_leave_out() -> None:
    known, name = known_world(9_300_003), "tasks/source.0/0/source/0.ndjson"
    cut = without(known, "", name, -1).members
    for changed in ({"complete": False}, {"excerpt": {}}):
        manifest = json.dumps({**json.loads(cut["job.json"]), **changed}).encode()
        assert not any("metrics" in one for one in sentences({**cut, "job.json": manifest}))
    assert any("metrics" in one for one in sentences(cut))


def test_a_choice_that_its_epoch_never_came_to_is_named_where_it_stands() -> None:
    known, name = known_world(9_300_006), "tasks/sink.2/1/main/0.det"
    data = known.members[name]
    begin, _ = spans_of(name, data)[-1]
    _, _, ignore = list(decode_all(data))[-1]
    assert isinstance(ignore, IgnoreCheckpoint)
    later = data[:begin] + encode(replace(ignore, record_count=ignore.record_count + 1))
    assert not any(name in one for one in wanted(known.members))
    assert any(name in one for one in wanted({**known.members, name: later}))


NO_TRACE = [
    pytest.param(9_100_082, "receipt dropped", "map-1.0/3/received-0/0.rcv", id="arrived last, and was not taken"),
    pytest.param(9_300_020, "receipt dropped", "dispatch.0/1/received-0/1.rcv", id="taken last, and nothing followed"),
    pytest.param(9_850_138, "receipt dropped", "map-2.1/0/received-0/0.rcv", id="another input held it up"),
    pytest.param(9_520_321, "receipt dropped", "sink.0/0/received-1/0.rcv", id="but a part of a record, and no more"),
    pytest.param(
        9_300_045, "source record removed", "source.1/0/source/0.ndjson", id="read last, and nothing followed"
    ),
    pytest.param(9_300_018, "source record removed", "source.1/2/source/0.ndjson", id="read last, and cut nowhere"),
    pytest.param(9_300_101, "determinant dropped", "count.0/0/main/1.det", id="chosen last, and nobody has it"),
    pytest.param(9_560_006, "determinant dropped", "source.0/0/main/2.det", id="its state of before was stored later"),
    pytest.param(9_830_356, "determinant dropped", "source.2/0/main/1.det", id="a timer that may fire after the end"),
    pytest.param(9_300_051, "sending dropped", "dispatch.1/0/sent-1/1.dlt", id="sent again to who failed"),
]


@pytest.mark.parametrize(("seed", "kind", "member"), NO_TRACE)
def test_what_leaves_no_trace_is_told_by_an_argument(seed: int, kind: str, member: str) -> None:
    known = known_world(seed)
    last = without(known, kind, f"tasks/{member}", -1)
    assert why_no_trace(known.members, last) is not None
    # Something came after what stands before it: so there is none for that.
    before = without(known, kind, f"tasks/{member}", -2)
    assert why_no_trace(known.members, before) is None
    assert why_no_trace(known.members, replace(last, kind="buffer doubled")) is None
