"""Answers from a recording: the same again, in the same order; whatever is not in it is a divergence, by name."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

import clonoscope
from clonoscope.replaying import Replay
from replay.bundle.reader import open_bundle
from tests.clonoscope.recorded import recording

SERVICES = ("time_ns", "time", "random", "uuid4", "urandom", "external", "failing", "exact")


class Unreachable(Exception):
    """What an outside raises."""


def answering(number: int) -> Any:
    calls.append(number)
    return {"n": number, "bytes": b"\x00\xff"}


def failing() -> Any:
    calls.append("failing")
    raise Unreachable("host", 7)


calls: list[Any] = []


def process(service: str, number: int) -> Any:
    """What a job's function does with a record."""
    match service:
        case "external":
            return clonoscope.external(answering, number)
        case "failing":
            try:
                return clonoscope.external(failing, raises=(Unreachable,))
            except Unreachable as fault:
                return str(fault)
        case "exact":
            return clonoscope.external(lambda: (1, 2), name="exact", encode=list, decode=tuple)
        case "urandom":
            return clonoscope.urandom(5)
    return getattr(clonoscope, service)()


def record(folder: Path, services: list[list[str]], **settings: Any) -> tuple[Path, list[Any]]:
    """An epoch per list."""
    with recording(folder / "recorded", **settings) as made:
        task = made.task("p")
        given = []
        for epoch, asked in enumerate(services):
            with task.epoch(epoch):
                for number, service in enumerate(asked):
                    task.take(number, topic="in")
                    given.append(process(service, number))
    return made.dump(folder / "out.zip"), given


def replay_of(bundle: Path) -> Replay:
    with open_bundle(bundle) as opened:
        return Replay.of(opened, "p.0", 0)


def run_again(replay: Replay, services: list[list[str]]) -> list[Any]:
    given = []
    for epoch, asked in enumerate(services):
        with replay.epoch(epoch):
            for number, service in enumerate(asked):
                replay.take(number, topic="in")
                given.append(process(service, number))
    return given


@pytest.mark.parametrize("seed", range(8))
def test_the_same_questions_get_the_same_answers_and_nothing_is_called(seed: int, tmp_path: Path) -> None:
    chooser = random.Random(seed)
    services = [chooser.choices(SERVICES, k=chooser.randrange(60)) for _ in range(3)]
    bundle, given = record(tmp_path, services)
    calls.clear()
    assert run_again(replay_of(bundle), services) == given, f"seed {seed}"
    assert calls == []


@pytest.mark.parametrize("seed", range(8))
def test_another_question_is_a_divergence_that_names_both_and_where(seed: int, tmp_path: Path) -> None:
    chooser = random.Random(seed)
    services = [chooser.choices(SERVICES, k=20)]
    bundle, _ = record(tmp_path, services)
    at = chooser.randrange(20)
    was = services[0][at]
    services[0][at] = chooser.choice([one for one in SERVICES if one != was])
    with pytest.raises(clonoscope.Diverged) as found:
        run_again(replay_of(bundle), services)
    names = {"failing": "failing", "external": "answering"}
    assert names.get(services[0][at], services[0][at]) in found.value.asked, f"seed {seed}"
    assert names.get(was, was) in found.value.logged and __file__ in found.value.logged
    assert f"{__file__}:" in found.value.place and "(process)" in found.value.place
    assert found.value.position == 2 * at + 1


def test_another_record_is_a_divergence(tmp_path: Path) -> None:
    bundle, _ = record(tmp_path, [["time"] * 3])
    replay = replay_of(bundle)
    expected = r"asked for record 7 of in\[0\]; the recording holds record 1 of"
    with pytest.raises(clonoscope.Diverged, match=expected), replay.epoch(0):
        replay.take(0, topic="in")
        clonoscope.time()
        replay.take(7, topic="in")


def test_what_is_left_of_an_epoch_is_a_divergence(tmp_path: Path) -> None:
    bundle, _ = record(tmp_path, [["time", "time"]])
    replay = replay_of(bundle)
    with (
        pytest.raises(clonoscope.Diverged, match="end of epoch 0 asked for nothing more; the recording holds record 1"),
        replay.epoch(0),
    ):
        replay.take(0, topic="in")
        clonoscope.time()


def test_past_the_end_is_the_end_of_the_recording(tmp_path: Path) -> None:
    bundle, _ = record(tmp_path, [["time"]])
    replay = replay_of(bundle)
    with pytest.raises(clonoscope.EndOfRecording, match="nothing more of this epoch"), replay.epoch(0):
        replay.take(0, topic="in")
        clonoscope.time()
        assert replay.used_up
        clonoscope.time()


def test_beyond_a_gap_a_divergence_says_that_there_was_one(tmp_path: Path) -> None:
    with recording(tmp_path / "recorded") as made, made.task("p").epoch(0) as task:
        clonoscope.time()
        task.log.gap("the disk was full")
        clonoscope.random()
    replay = replay_of(made.dump(tmp_path / "out.zip"))
    assert [(gap.epoch, gap.position, gap.why) for gap in replay.gaps] == [(0, 1, "the disk was full")]
    with pytest.raises(clonoscope.Diverged, match="but here is a gap: the disk was full"), replay.epoch(0):
        clonoscope.time()
        clonoscope.uuid4()


def test_a_redacted_answer_is_missing_and_never_made_up(tmp_path: Path) -> None:
    bundle, _ = record(tmp_path, [["external"]], payload="none")
    replay = replay_of(bundle)
    with pytest.raises(clonoscope.Diverged, match="which is redacted"), replay.epoch(0):
        replay.take(0, topic="in")
        process("external", 0)


def test_an_exception_that_nobody_names_comes_as_what_was_recorded(tmp_path: Path) -> None:
    def broken() -> None:
        raise Unreachable("host", 7)

    with recording(tmp_path / "recorded") as made, made.task("p").epoch(0):
        with pytest.raises(Unreachable):
            clonoscope.external(broken)
        with pytest.raises(ZeroDivisionError):
            clonoscope.external(lambda: 1 // 0, name="divide")
    replay = replay_of(made.dump(tmp_path / "out.zip"))
    with replay.epoch(0):
        with pytest.raises(clonoscope.RecordedFault) as found:
            clonoscope.external(broken)
        with pytest.raises(ZeroDivisionError, match="integer division"):
            clonoscope.external(lambda: 1, name="divide")
    assert found.value.type == f"{__name__}.Unreachable" and found.value.message == "('host', 7)"


@pytest.mark.parametrize("seed", range(5))
async def test_overlapping_calls_end_in_the_order_in_which_they_ended(seed: int, tmp_path: Path) -> None:
    chooser = random.Random(seed)
    pauses = [chooser.randrange(6) for _ in range(8)]

    async def paused(number: int) -> int:
        for _ in range(pauses[number]):
            await asyncio.sleep(0)
        return number * 10

    async def work(number: int) -> None:
        given = await clonoscope.external(paused, number)
        seen.append((number, given, clonoscope.time_ns()))

    async def all_at_once() -> None:
        await asyncio.gather(*(work(number) for number in range(len(pauses))))

    seen: list[Any] = []
    with recording(tmp_path / "recorded") as made, made.task("p").epoch(0):
        await all_at_once()
    recorded, seen = seen, []
    pauses = [0] * len(pauses)
    replay = replay_of(made.dump(tmp_path / "out.zip"))
    with replay.epoch(0):
        await all_at_once()
    assert seen == recorded, f"seed {seed}"
    assert replay.used_up


async def test_a_call_that_was_never_awaited_does_not_wait_for_ever(tmp_path: Path) -> None:
    async def asked() -> int:
        return 1

    with recording(tmp_path / "recorded") as made, made.task("p").epoch(0):
        clonoscope.time()
    replay = replay_of(made.dump(tmp_path / "out.zip"))
    with (
        pytest.raises(
            clonoscope.Diverged, match=r"'test_a_call.*asked' with effect read; the recording holds time from"
        ),
        replay.epoch(0),
    ):
        await clonoscope.external(asked)
