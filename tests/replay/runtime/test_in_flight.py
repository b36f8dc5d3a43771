"""An attempt's in-flight log in virtual time: spilled to real files and read back, against a plain list."""

from __future__ import annotations

import os
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from replay.errors import PoolExhausted
from replay.jobs.options import RecordOptions
from replay.jobs.record import run_of
from replay.log.spill_files import SpillFault
from replay.log.spill_policies import SPILL_POLICIES
from replay.protocols import PROTOCOLS
from replay.runtime.attempts.in_flight import InFlight, InFlightReplay
from replay.runtime.body.output import Cut
from replay.runtime.engine import Engine
from replay.runtime.recorder import MemoryMembers


class Output:
    """Who reads a replay: counts how often it is woken."""

    def __init__(self, channel: str):
        self.channel = channel
        self.woken = 0
        self.replay: InFlightReplay | None = None

    def wake(self) -> None:
        self.woken += 1

    def replays(self, replay: InFlightReplay) -> bool:
        return self.replay is replay


class Bench:
    """One attempt's in-flight log, and a scheduler that nothing else uses."""

    def __init__(self, **options: Any):
        self.engine = Engine(run_of(RecordOptions(**options), PROTOCOLS), MemoryMembers())
        attempt = self.engine.deploy("map-1.0", 0, "host-0", 0, running=True)  # type: ignore[arg-type]
        self.log: InFlight = attempt.in_flight
        self.channels = [one.channel for one in attempt.shape.outputs]

    def wait_us(self, duration_us: int | None = None) -> None:
        """Lets the disk and the checks work for so long, or until there is nothing left to do."""
        scheduler = self.engine.scheduler
        until_us = None if duration_us is None else scheduler.now_us + duration_us
        heap = scheduler._heap
        scheduler.run(lambda: not heap or (until_us is not None and heap[0][0] > until_us), lambda: 1 << 60)
        scheduler.now_us = max(scheduler.now_us, until_us or 0)

    def wait_for(self, output: Output) -> None:
        """Until it is woken."""
        woken = output.woken
        self.engine.scheduler.run(lambda: output.woken > woken, lambda: 1 << 60)

    def on_disk(self) -> list[str]:
        folder = self.engine.spill_files.folder
        return [] if folder is None else sorted(os.listdir(folder))


def cut(seq: int, payload: bytes, epoch: int, *, event: bool = False) -> Cut:
    return Cut(seq, payload, event, epoch)


@pytest.mark.parametrize("policy", list(SPILL_POLICIES))
@pytest.mark.parametrize("seed", range(10))
def test_what_is_replayed_is_what_was_kept_wherever_its_bytes_are(policy: str, seed: int) -> None:
    """Appends, truncations, replays with skips and the disk's work, in any order; the model is a list per channel."""
    chance = Random(f"{policy} {seed}")
    drawn = {
        "in_flight_pool": chance.choice((5, 20, 100)),
        "prefetch": chance.choice((0, 1, 4, 10)),
        "disk_mib_s": chance.choice((0.05, 1.0, 500.0)),
        "spill_threshold": chance.choice((0.0, 0.4, 0.9)),
        "spill_interval_ms": chance.choice((0.5, 20.0)),
    }
    meant = list(drawn)[: {"memory": 0, "eager": 3, "oldest": 4, "availability": 5}[policy]]
    bench = Bench(seed=seed, spill=policy, **{name: drawn[name] for name in meant})
    log, epoch, seq, given = bench.log, 0, 0, 0
    kept: dict[str, list[Cut]] = {channel: [] for channel in bench.channels}
    outputs = {channel: Output(channel) for channel in bench.channels}
    expected: dict[str, list[Cut]] = {}
    for _ in range(400):
        channel, act = chance.choice(bench.channels), chance.random()
        if act < 0.4:
            one = cut(seq, chance.randbytes(chance.randrange(1, 80)), epoch, event=chance.random() < 0.1)
            if one.is_event or log.has_room():
                log.keep(channel, one)
                kept[channel].append(one)
                if channel in expected:
                    expected[channel].append(one)
                seq += 1
        elif act < 0.46:
            epoch += 1
        elif act < 0.5:
            oldest = chance.randint(max(0, epoch - 2), epoch)
            log.truncate(oldest)
            for cuts in (*kept.values(), *expected.values()):
                cuts[:] = [one for one in cuts if one.epoch >= oldest]
        elif act < 0.55:
            skip = chance.randint(0, len(kept[channel]))
            outputs[channel].replay = log.replay(outputs[channel], 0, skip)  # type: ignore[arg-type]
            expected[channel] = kept[channel][skip:]
        elif act < 0.7:
            bench.wait_us(chance.choice((50, 2_000, 100_000)))
        elif (replay := outputs[channel].replay) is not None:
            assert replay.ended == (not expected[channel]), f"seed {seed}"
            ready = replay.ready()
            if ready is not None:
                assert ready == expected[channel].pop(0), f"seed {seed}"
                replay.advance()
                given += 1
            elif expected[channel]:
                bench.wait_us()
                assert replay.ready() == expected[channel][0], f"seed {seed}"
        resident = [one for one in log.log.all() if one.place is None and not one.buffer.is_event]
        assert log.used == len(resident), f"seed {seed}"
    assert given > 10
    log.close()
    assert bench.on_disk() == []
    bench.engine.spill_files.close()


def fill(bench: Bench, buffers: int, *, epoch: int = 0, size: int = 10) -> None:
    for seq in range(buffers):
        assert bench.log.has_room()
        bench.log.keep(bench.channels[seq % 2], cut(seq, bytes(size), epoch))


def in_memory(bench: Bench) -> list[int]:
    return sorted(one.buffer.seq for one in bench.log.log.all() if one.place is None)


def test_eager_writes_each_buffer_as_it_comes() -> None:
    bench = Bench(spill="eager", in_flight_pool=4)
    fill(bench, 3)
    assert bench.log.used == 3
    bench.wait_us()
    assert (bench.log.used, in_memory(bench)) == (0, [])
    assert bench.on_disk() == ["1-out-0-0.spill", "1-out-1-0.spill"]
    bench.engine.spill_files.close()


def test_availability_writes_everything_at_the_first_look_at_which_too_few_are_free() -> None:
    bench = Bench(spill="availability", in_flight_pool=10, spill_threshold=0.4, spill_interval_ms=50.0)
    fill(bench, 5)
    bench.wait_us(200_000)
    assert bench.on_disk() == [] and bench.log.used == 5
    fill(bench, 1)
    bench.wait_us(49_000)
    assert bench.on_disk() == []
    bench.wait_us(5_000)
    assert (bench.log.used, in_memory(bench)) == (0, [])
    bench.engine.spill_files.close()


def test_oldest_keeps_the_oldest_in_memory_and_writes_what_comes_when_few_are_free() -> None:
    bench = Bench(spill="oldest", in_flight_pool=10, spill_threshold=0.4)
    fill(bench, 9)
    bench.wait_us()
    assert in_memory(bench) == [0, 1, 2, 3, 4, 5]
    bench.log.truncate(1)
    assert bench.on_disk() == [] and bench.log.used == 0
    bench.engine.spill_files.close()


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize(
    "asked",
    [
        {"spill": "eager"},
        *({"spill": one, "spill_threshold": at} for one in ("availability", "oldest") for at in (0.0, 0.99)),
    ],
    ids=str,
)
def test_a_pool_that_spills_never_stays_full(asked: dict[str, Any], size: int) -> None:
    bench = Bench(in_flight_pool=size, **asked)
    for seq in range(30):
        if not bench.log.has_room():
            bench.wait_us()
        assert bench.log.has_room()
        bench.log.keep(bench.channels[0], cut(seq, b"x", 0))
    assert bench.engine.totals.logs.in_flight_buffers <= size
    bench.engine.spill_files.close()


def test_reading_ahead_takes_no_more_buffers_than_it_may_and_saves_waiting() -> None:
    waited = {}
    for prefetch in (0, 3):
        bench = Bench(spill="eager", prefetch=prefetch)
        fill(bench, 40)
        bench.wait_us()
        output = Output(bench.channels[0])
        output.replay = bench.log.replay(output, 0, 2)  # type: ignore[arg-type]
        got = []
        while not output.replay.ended:
            ready = output.replay.ready()
            if ready is None:
                bench.wait_for(output)
                waited[prefetch] = waited.get(prefetch, 0) + 1
                continue
            got.append(ready.seq)
            output.replay.advance()
            bench.wait_us(50)
        assert got == list(range(4, 40, 2))
        assert bench.engine.totals.logs.prefetch_buffers == max(1, prefetch)
        assert bench.engine.totals.logs.reloaded_buffers == len(got)
        bench.engine.spill_files.close()
    assert waited[3] < waited[0] == 18


def test_what_was_truncated_while_it_was_read_is_forgotten() -> None:
    bench = Bench(spill="eager", prefetch=2)
    fill(bench, 6)
    fill(bench, 2, epoch=3)
    bench.wait_us()
    output = Output(bench.channels[0])
    output.replay = bench.log.replay(output, 0, 0)  # type: ignore[arg-type]
    assert output.replay.ready() is None
    bench.log.truncate(3)
    bench.wait_us()
    assert output.replay.ready() is None
    bench.wait_us()
    ready = output.replay.ready()
    assert ready is not None and (ready.seq, ready.epoch) == (0, 3)
    bench.engine.spill_files.close()


def test_a_write_that_is_under_way_when_the_attempt_ends_makes_no_file() -> None:
    bench = Bench(spill="eager")
    fill(bench, 4)
    bench.log.close()
    bench.wait_us()
    assert bench.on_disk() == []


# --- whole runs


KILLS = ("map-1.0@310", "map-2.1@520+sink.0@521")
SLOW: dict[str, Any] = {
    "seed": 3, "events": 1500, "depth": 4, "checkpoint_interval_ms": 250, "buffer_bytes": 512,
}  # fmt: skip
SLOW_DISK: dict[str, Any] = {**SLOW, "disk_mib_s": 2.0}


def run(**options: Any) -> tuple[Engine, MemoryMembers]:
    members = MemoryMembers()
    engine = Engine(run_of(RecordOptions(**options), PROTOCOLS), members)
    engine.run()
    return engine, members


def test_a_memory_policy_whose_epoch_outgrows_the_pool_says_so_instead_of_waiting_for_ever() -> None:
    with pytest.raises(PoolExhausted) as caught:
        run(**{**SLOW, "in_flight_pool": 6})
    fault = caught.value
    assert fault.pool == "in-flight" and fault.task.startswith("map-")
    assert f"the in-flight pool of {fault.task} is full: its 6 buffers hold what was sent in epoch 0" in str(fault)
    assert "Make the pool larger than an epoch, complete checkpoints more often, or spill" in str(fault)


@pytest.mark.parametrize("seed", range(4))
def test_a_memory_policy_waits_as_long_as_a_checkpoint_may_still_complete(seed: int) -> None:
    """Pools of every size either end well, or with the sentence: never without either."""
    chance = Random(seed)
    options = {**SLOW, "seed": seed, "kills": KILLS[: chance.randrange(3)], "events": 800}
    ended: list[int] = []
    for buffers in (2, 10, 30, 60, 400):
        try:
            engine, _ = run(**options, in_flight_pool=buffers)
        except PoolExhausted:
            assert not ended, f"seed {seed}: {buffers} buffers are too few, and {ended} were enough"
        else:
            ended.append(buffers)
            assert engine.totals.logs.in_flight_buffers <= buffers
    assert 400 in ended


def test_a_disk_that_fails_ends_the_run_with_a_sentence_and_leaves_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    engine = Engine(run_of(RecordOptions(**SLOW_DISK, spill="eager"), PROTOCOLS), MemoryMembers())
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(SpillFault, match="a spilled buffer can't be written: No space left on device"):
        engine.run()
    assert engine.spill_files.folder is None


def test_files_of_attempts_that_are_gone_and_of_epochs_that_are_covered_are_deleted() -> None:
    engine = Engine(
        run_of(
            RecordOptions(
                **{**SLOW_DISK, "events": 6000, "rate_per_s": 4000.0, "checkpoint_interval_ms": 60},
                kills=KILLS,
                spill="eager",
            ),
            PROTOCOLS,
        ),
        MemoryMembers(),
    )
    seen: set[str] = set()
    completed = [0]
    most = 0

    def look(kind: str, _: Any) -> None:
        nonlocal most
        if completed[-1] != engine.checkpoints.completed:
            completed.append(engine.checkpoints.completed)
        alive = {str(one.serial): one for one in engine.current.values() if one.alive}
        names = engine.spill_files.names
        most = max(most, len(names))
        seen.update(names)
        if kind == "task-failed":  # told before the attempt ends
            return
        for name in names:
            serial, _, _, epoch = name.removesuffix(".spill").split("-")
            assert serial in alive
            assert int(epoch) >= completed[-2:][0]  # that of the last one is still being told
        folder = engine.spill_files.folder
        assert names == ([] if folder is None else sorted(os.listdir(folder)))

    engine.on_event = look
    engine.run()
    assert engine.spill_files.folder is None
    assert len(seen) > 2 * most > 0
    assert engine.totals.logs.spilled_buffers > 100 < engine.totals.logs.reloaded_buffers


def test_the_smaller_the_pool_the_longer_the_job_and_the_more_often_it_is_looked_at_the_shorter() -> None:
    """The axes of the paper's figure: policy, pool and interval against throughput."""
    busy = {**SLOW, "load": 95.0, "events": 2500, "buffer_bytes": 1024, "seed": 5}

    def took_ms(**options: Any) -> int:
        engine, _ = run(**busy, **({"disk_mib_s": 2.0} if options else {}), **options)
        return engine.scheduler.now_us // 1000

    plain = took_ms()
    assert took_ms(spill="availability", in_flight_pool=4, spill_interval_ms=200.0) > 1.5 * plain
    assert took_ms(spill="availability", in_flight_pool=4, spill_interval_ms=1.0) < 1.2 * plain
    assert took_ms(spill="availability", in_flight_pool=250, spill_interval_ms=200.0) < 1.1 * plain
    assert took_ms(spill="eager", in_flight_pool=4) < 1.2 * plain


def test_costs_of_the_disk_count() -> None:
    bench = Bench(spill="eager", in_flight_pool=4)
    costs = bench.engine.costs
    assert costs.disk_us(1 << 20, seeks=True) - costs.disk_us(1 << 20, seeks=False) == costs.disk_seek_us
    assert replace(costs, disk_bytes_per_s=1 << 20).disk_us(1 << 20, seeks=False) == 1e6
