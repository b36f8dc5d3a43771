"""What the recorder's adapters cost jobs of Kafka, Quix Streams and Bytewax: throughput, latency, memory, bytes.

`.venv/engines/bin/python -m bench.recorder_engines`. Both sides in one process, in turn, on one core; the processor's
time, as others may use the machine. The broker, librdkafka's own for tests, is a process of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import clonoscope
from bench.recorder import Job, order
from clonoscope import Recording
from clonoscope.reading import size_of

_SLICE = 200
_LINES = 60
_SETTINGS: dict[str, dict[str, Any]] = {"references": {"outputs": False}, "outputs_too": {}}


Clock = Callable[[], float]


class Watch:
    """The processor's time, from the first record that counts to the last, and of each slice of records."""

    def __init__(self, records: int, warm: int):
        self.records, self.warm, self.seen = records, warm, 0
        self.slices: list[float] = []
        self._began = self._of_slice = 0.0
        self.total_s = 0.0

    def tick(self, *_: Any) -> None:
        """A record is done."""
        self.seen += 1
        if self.seen % _SLICE == 0 and self.seen >= self.warm:
            now = time.process_time()
            if self._began:
                self.slices.append(now - self._of_slice)
            else:
                self._began = now
            self._of_slice = now
            self.total_s = now - self._began

    @property
    def us_a_record(self) -> float:
        return self.total_s / (len(self.slices) * _SLICE) * 1e6

    @property
    def p99_us(self) -> float:
        """Of a slice, by its records."""
        return statistics.quantiles(self.slices, n=100)[-1] / _SLICE * 1e6


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


def kafka_job(address: str, watch: Watch, now: Clock, recording: Recording | None, **settings: Any) -> None:
    """Reads an order, writes a line, commits now and then."""
    from confluent_kafka import Consumer, Producer, TopicPartition

    from clonoscope.adapters import kafka

    consumer: Any = Consumer({"bootstrap.servers": address, "group.id": "bench", "enable.auto.commit": False})
    producer: Any = Producer({"bootstrap.servers": address, "linger.ms": 50})
    if recording is not None:
        consumer, producer = kafka.record(recording, consumer, producer, **settings)
    consumer.assign([TopicPartition("orders", 0, 0)])
    job = Job()
    while watch.seen < watch.records:
        message = consumer.poll(10)
        producer.produce("lines", job.process(message.value(), now()), message.key())
        watch.tick()
        if watch.seen % 2000 == 0:
            producer.flush()
            consumer.commit(asynchronous=False)
    consumer.close()
    producer.purge()


def quix_job(address: str, watch: Watch, now: Clock, recording: Recording | None, **settings: Any) -> None:
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
            commit_every=2000,
            commit_interval=60,
            state_dir=state,
            loglevel="ERROR",
            topic_manager=topics_of(address, group),
            on_message_processed=watch.tick,
        )
        if recording is not None:
            app = quix.record(recording, app, **settings)
        job = Job()
        orders = app.topic("orders", value_deserializer="bytes")
        frame = app.dataframe(orders).apply(lambda data: job.process(data, now()))
        frame.to_topic(app.topic("lines", value_serializer="bytes"))
        app.run(count=watch.records)


def bytewax_job(_: str, watch: Watch, now: Clock, recording: Recording | None, **settings: Any) -> None:
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
    run_main(flow, epoch_interval=timedelta(seconds=0.1))


_JOBS: dict[str, Callable[..., None]] = {"kafka": kafka_job, "quix": quix_job, "bytewax": bytewax_job}


def measured(name: str, address: str, folder: Path, records: int, rounds: int, **settings: Any) -> dict[str, Any]:
    """Its share of throughput that is left, and what a record adds to latency, memory and segments."""
    job, warm = _JOBS[name], records // 10
    plain, recorded_us, shares, latencies, used = [], [], [], [], []
    job(address, Watch(records, warm), time.time, None)
    memory_mib = _memory_mib()
    for number in range(rounds):
        sides: dict[bool, Watch] = {}
        for recorded in (False, True) if number % 2 else (True, False):
            sides[recorded] = watch = Watch(records, warm)
            if recorded:
                with clonoscope.start(f"{name}-{number}", dir=folder, max_mb=1024, dump_on=()) as recording:
                    job(address, watch, clonoscope.time, recording, **settings)
                    logs = [task.log for task in recording._tasks.values() if task.log.segment is not None]
                    unused = sum((len(log.view) - log.pos) * 8 for log in logs)
                    used.append((size_of(recording.folder) - unused) / watch.records)
                    faults = recording.faults
                assert not faults, faults
            else:
                job(address, watch, time.time, None)
        plain.append(sides[False].us_a_record)
        recorded_us.append(sides[True].us_a_record)
        shares.append(sides[False].us_a_record / sides[True].us_a_record)
        latencies.append(sides[True].p99_us - sides[False].p99_us)
    return {
        "throughput_left": round(statistics.median(shares), 4),
        "of_the_quickest": round(min(plain) / min(recorded_us), 4),
        "of_rounds": [round(one, 3) for one in sorted(shares)],
        "plain_us_a_record": round(min(plain), 2),
        "recorded_us_a_record": round(min(recorded_us), 2),
        "p99_latency_added_us": round(statistics.median(latencies), 2),
        "bytes_a_record": round(statistics.median(used), 2),
        "memory_added_mib": _memory_mib() - memory_mib,
    }


def _memory_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def main() -> int:
    """Prints the numbers as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000, help="of each side of each round")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--engines", nargs="*", default=list(_JOBS), choices=list(_JOBS))
    parser.add_argument("--broker", action="store_true", help="only be the broker; the bench starts it")
    chosen = parser.parse_args()
    if chosen.broker:
        be_a_broker(chosen.records)
        return 0
    folder = Path(tempfile.mkdtemp(prefix="clonoscope-bench-"))
    found: dict[str, Any] = {}
    try:
        with broker(chosen.records) as address:
            if hasattr(os, "sched_setaffinity"):
                os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
            for name in chosen.engines:
                for kind, settings in _SETTINGS.items():
                    of_kind = folder / f"{name}-{kind}"
                    found[f"{name}_{kind}"] = measured(
                        name, address, of_kind, chosen.records, chosen.rounds, **settings
                    )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
