"""What the recorder's adapters cost jobs of Kafka, Quix Streams and Bytewax: throughput, latency, bytes, memory.

`.venv/engines/bin/python -m bench.recorder_engines`. Each side is a process; on one core they take turns of 200 records
each, by the seconds of the processor, as others may use the machine. The broker, librdkafka's own for tests, is another
process. Memory is that of sides by themselves. Clients fetch little ahead: else how much they did is what one sees.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import clonoscope
from bench.recorder import Job, order
from bench.side_by_side import SLICE_RECORDS, Watch, compared, p99_us, periods, take_turns
from clonoscope import Recording
from clonoscope.reading import size_of

_LINES = 60
# Records between two commits.
_COMMIT = 2000
_SETTINGS: dict[str, dict[str, Any]] = {"references": {"outputs": False}, "outputs_too": {}}
_A_PERIOD = _COMMIT // SLICE_RECORDS
_FETCHES_LITTLE = {"queued.max.messages.kbytes": 1024}


Clock = Callable[[], float]
Client = Mapping[str, Any]
_USUAL: Client = {}


@contextlib.contextmanager
def broker(records: int) -> Iterator[str]:
    """With so many orders in one partition of the topic `orders`."""
    command = [sys.executable, "-m", "bench.recorder_engines", "--broker", "--records", str(records)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def be_a_broker(records: int) -> None:
    """Until its input ends."""
    from confluent_kafka import Producer

    # It holds a few MiB of a partition: as batches that are compressed.
    batches = {"compression.type": "zstd", "linger.ms": 200, "batch.size": 1 << 20, "batch.num.messages": 2000}
    made = Producer({"test.mock.num.brokers": 1, "queue.buffering.max.messages": 10_000_000, **batches})
    (address,) = [str(one) for one in made.list_topics(timeout=30).brokers.values()]
    for number in range(records):
        made.produce("orders", order(number, _LINES), b"key", 0)
    made.flush()
    print(address.partition("/")[0], flush=True)
    sys.stdin.read()


def kafka_job(
    address: str, watch: Watch, now: Clock, recording: Recording | None, *, client: Client = _USUAL, **settings: Any
) -> None:
    """Reads an order, writes a line, commits now and then."""
    from confluent_kafka import Consumer, Producer, TopicPartition

    from clonoscope.adapters import kafka

    fixed = {"bootstrap.servers": address, "group.id": "bench", "enable.auto.commit": False}
    consumer: Any = Consumer({**fixed, **client})
    producer: Any = Producer({"bootstrap.servers": address, "linger.ms": 50})
    if recording is not None:
        consumer, producer = kafka.record(recording, consumer, producer, **settings)
    consumer.assign([TopicPartition("orders", 0, 0)])
    job = Job()
    while watch.seen < watch.records:
        message = consumer.poll(10)
        producer.produce("lines", job.process(message.value(), now()), message.key())
        watch.tick()
        if watch.seen % _COMMIT == 0:
            producer.flush()
            consumer.commit(asynchronous=False)
    consumer.close()
    producer.purge()


def quix_job(
    address: str, watch: Watch, now: Clock, recording: Recording | None, *, client: Client = _USUAL, **settings: Any
) -> None:
    """The same as a dataframe."""
    from quixstreams import Application

    from clonoscope.adapters import quix

    # Of the tests, whose types nobody checks.
    topics_of = importlib.import_module("tests.clonoscope.jobs.quix_topics").topics_of

    group = f"quix-{time.monotonic_ns()}"
    with tempfile.TemporaryDirectory() as state:
        app = Application(
            broker_address=address,
            consumer_group=group,
            auto_offset_reset="earliest",
            commit_every=_COMMIT,
            commit_interval=60,
            state_dir=state,
            loglevel="ERROR",
            topic_manager=topics_of(address, group),
            on_message_processed=watch.tick,
            consumer_extra_config=dict(client),
        )
        if recording is not None:
            app = quix.record(recording, app, **settings)
        job = Job()
        orders = app.topic("orders", value_deserializer="bytes")
        frame = app.dataframe(orders).apply(lambda data: job.process(data, now()))
        frame.to_topic(app.topic("lines", value_serializer="bytes"))
        app.run(count=watch.records)


def bytewax_job(
    _: str, watch: Watch, now: Clock, recording: Recording | None, *, client: Client = _USUAL, **settings: Any
) -> None:
    """The same as a dataflow, with the totals in the engine's state."""
    from datetime import timedelta

    import bytewax.operators as op
    from bytewax.dataflow import Dataflow
    from bytewax.testing import TestingSink, TestingSource, run_main

    from clonoscope.adapters import bytewax

    orders = [order(number, _LINES) for number in range(2000)]
    job = Job()
    out: list[bytes] = []

    def process(data: bytes) -> bytes:
        done = job.process(data, now())
        watch.tick()
        return done

    source = TestingSource((orders[number % 2000] for number in range(watch.records)), batch_size=100)
    flow = Dataflow("lines")
    op.output("out", op.map("process", op.input("in", flow, source), process), TestingSink(out))
    if recording is not None:
        bytewax.record(recording, flow, **settings)
    run_main(flow, epoch_interval=timedelta(seconds=1))


_JOBS: dict[str, Callable[..., None]] = {"kafka": kafka_job, "quix": quix_job, "bytewax": bytewax_job}


def measured(name: str, address: str, kind: str, records: int, rounds: int) -> dict[str, Any]:
    """Its share of throughput that is left, and what a record adds to latency and segments."""
    slices: dict[str, list[float]] = {"without": [], kind: []}
    used = []
    for _ in range(rounds):
        count = records // SLICE_RECORDS
        commands = [_side(name, side, address, records, "--in-turn") for side in slices]
        took, ends = take_turns(commands, count)
        # The first tenth warms up.
        warm = max(count // 10 // _A_PERIOD, 1) * _A_PERIOD
        for side, found in zip(slices, took, strict=True):
            slices[side] += found[warm : warm + (count - warm) // _A_PERIOD * _A_PERIOD]
        used.append(ends[1]["bytes_a_record"])
    plain, recorded = (periods(found, _A_PERIOD) for found in slices.values())
    return {
        **compared(plain, recorded),
        "plain_us_a_record": round(statistics.median(plain) / _COMMIT * 1e6, 2),
        "recorded_us_a_record": round(statistics.median(recorded) / _COMMIT * 1e6, 2),
        "p99_latency_added_us": round(p99_us(slices[kind]) - p99_us(slices["without"]), 2),
        "bytes_a_record": round(statistics.median(used), 2),
    }


def _side(name: str, side: str, address: str, records: int, *more: str) -> list[str]:
    return ["-m", "bench.recorder_engines", "--side", name, side, address, "--records", str(records), *more]


def peaks(name: str, address: str, records: int, rounds: int) -> dict[str, list[int]]:
    """The most that processes had resident which ran one side, in turn: in MiB, of each round."""
    found: dict[str, list[int]] = {}
    for _ in range(rounds):
        for side in ("without", *_SETTINGS):
            command = [sys.executable, *_side(name, side, address, records)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found.setdefault(side, []).append(json.loads(done.stdout.splitlines()[-1])["peak_mib"])
    return {side: sorted(peaks_mib) for side, peaks_mib in found.items()}


def run_side(name: str, side: str, address: str, records: int, *, in_turn: bool) -> None:
    """Once, in a process of its own; tells how much of memory it had, and how much a record took."""
    watch = Watch(records, (sys.stdin, sys.stdout) if in_turn else None)
    client = _FETCHES_LITTLE
    found: dict[str, float] = {}
    if side == "without":
        _JOBS[name](address, watch, time.time, None, client=client)
    else:
        with (
            tempfile.TemporaryDirectory(prefix="clonoscope-bench-") as folder,
            clonoscope.start(name, dir=folder, max_mb=1024, dump_on=()) as recording,
        ):
            _JOBS[name](address, watch, clonoscope.time, recording, client=client, **_SETTINGS[side])
            logs = [task.log for task in recording._tasks.values() if task.log.segment is not None]
            unused = sum((len(log.view) - log.pos) * 8 for log in logs)
            found["bytes_a_record"] = (size_of(recording.folder) - unused) / watch.records
            assert not recording.faults, recording.faults
    print(json.dumps({**found, "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}))


def main() -> int:
    """Prints the numbers as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000, help="of each side of each round")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--engines", nargs="*", default=list(_JOBS), choices=list(_JOBS))
    parser.add_argument("--kinds", nargs="*", default=list(_SETTINGS), choices=list(_SETTINGS))
    parser.add_argument("--memory", action="store_true", help="how much of it each side has, and nothing else")
    parser.add_argument("--side", nargs=3, metavar=("ENGINE", "SIDE", "BROKER"), help=argparse.SUPPRESS)
    parser.add_argument("--in-turn", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--broker", action="store_true", help="only be the broker; the bench starts it")
    chosen = parser.parse_args()
    if chosen.broker:
        be_a_broker(chosen.records)
        return 0
    if chosen.side:
        name, side, address = chosen.side
        run_side(name, side, address, chosen.records, in_turn=chosen.in_turn)
        return 0
    found: dict[str, Any] = {}
    with broker(chosen.records) as address:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        for name in chosen.engines:
            if chosen.memory:
                found[f"{name}_peak_mib"] = peaks(name, address, chosen.records, min(chosen.rounds, 5))
                continue
            for kind in chosen.kinds:
                found[f"{name}_{kind}"] = measured(name, address, kind, chosen.records, chosen.rounds)
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
