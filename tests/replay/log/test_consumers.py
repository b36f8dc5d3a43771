"""What consumers are sent, against a sender that looks through everything it holds each time."""

from itertools import pairwise
from random import Random

import pytest

from replay.errors import PoolExhausted
from replay.log.causal_log import CausalLog
from replay.log.codec import encode
from replay.log.deltas import DeltaEntry, LogIds, decode_message, encode_deltas
from replay.log.determinants import BufferBuilt, Order, Rng, Timestamp
from replay.model import LogId
from tests.oracle.delta_layouts import delta_messages
from tests.oracle.logs import threads_by_wire
from tests.replay.log.graphs import graph

SEEDS = range(60)
WIDTH = 3


class NaiveSender:
    """What a consumer was sent of every log, and a full look at all logs for what it was not."""

    def __init__(self, log):
        self.log = log
        self.sent = {}

    def register(self, channel, from_epoch):
        self.sent[channel] = from_epoch, {}

    def delta_for(self, channel):
        log, found = self.log, set()
        k = log.graph.channel(channel).k
        logs = {LogId(log.task, thread): log.own[thread] for thread in ("main", f"out-{k}")}
        for one in log.received:
            hops = log.graph.distance(one.task, log.task)
            if log.sharing_depth is None or hops + 1 <= log.sharing_depth:
                logs[one] = log.received.get(one)
        from_epoch, sent = self.sent[channel]
        for one, held in logs.items():
            for epoch, data in held.since(from_epoch):
                at = sent.get((one, epoch), 0)
                if len(data) > at:
                    found.add(DeltaEntry(one, epoch, at, data[at:]))
                    sent[one, epoch] = len(data)
        return found


def layers(depth):
    """So many layers of `WIDTH` tasks, each connected with all of the next."""
    names = [[f"l{layer}.{i}" for i in range(WIDTH)] for layer in range(depth)]
    return graph([(a, b) for ups, downs in pairwise(names) for a in ups for b in downs])


@pytest.mark.parametrize("layout", ["flat", "grouping"])
@pytest.mark.parametrize("seed", SEEDS)
def test_deltas_are_those_of_a_sender_that_looks_through_everything(seed, layout):
    chance = Random(seed)
    job = layers(chance.choice([3, 4]))
    depth = chance.choice([1, 2, 3, None])
    logs = {task.id: CausalLog(task.id, job, sharing_depth=depth) for task in job.tasks}
    naive = {task: NaiveSender(log) for task, log in logs.items()}
    ids, threads = LogIds.of(job.manifest), threads_by_wire(_AsRead(job.manifest))
    oldest = newest = 0
    for channel in job.channels:
        for sender in (logs[channel.source].register_consumer, naive[channel.source].register):
            sender(channel.id, 0)
    for _ in range(400):
        act = chance.random()
        task = chance.choice(job.tasks)
        log = logs[task.id]
        if act < 0.35:
            log.append("main", chance.choice([Rng(seed), Timestamp(7), Order(1)]), newest)
        elif act < 0.9 and task.outputs:
            k = chance.randrange(len(task.outputs))
            log.append(f"out-{k}", BufferBuilt(chance.randrange(99)), newest)
            channel = job.channel(task.outputs[k].channel)
            expected = naive[task.id].delta_for(channel.id)
            data = encode_deltas(log.delta_for(channel.id), ids, layout)
            assert _as_entries(data, layout, threads) == expected, f"seed {seed}"
            logs[channel.target].apply(decode_message(data, ids, layout), channel.id)
        elif act < 0.94 and task.outputs:  # the receiver comes anew
            channel = chance.choice(task.outputs).channel
            log.register_consumer(channel, oldest)
            naive[task.id].register(channel, oldest)
        elif act < 0.97:
            newest += 1
        elif oldest < newest:
            oldest += 1
            for one in logs.values():
                one.truncate(oldest)


class _AsRead:
    def __init__(self, manifest):
        self.manifest = manifest.to_json()


def _as_entries(data, layout, threads):
    """As the independent reader understands the message."""
    return {
        DeltaEntry(LogId(*threads[number, output]), epoch, offset, one)
        for epoch, entries in delta_messages(data, layout)
        for number, output, offset, one in entries
    }


def test_a_delta_looks_at_what_changed_and_not_at_what_is_held():
    """At full sharing a task of the last layers holds a hundred logs: a buffer that brings one must cost one."""
    job = layers(4)
    log = CausalLog("l2.0", job)
    log.register_consumer("l2.0>l3.0")
    upstream = [LogId(task.id, thread) for task in job.tasks if task.id < "l2" for thread in task.threads]
    log.apply([DeltaEntry(one, 0, 0, b"x") for one in upstream], "l1.0>l2.0")
    assert len(log.delta_for("l2.0>l3.0")) == len(upstream) == 24
    looked = []
    get = log.received.get
    log.received.get = lambda one: looked.append(one) or get(one)
    log.apply([DeltaEntry(upstream[3], 0, 1, b"y")], "l1.0>l2.0")
    looked.clear()
    assert log.delta_for("l2.0>l3.0") == [DeltaEntry(upstream[3], 0, 1, b"y")]
    assert looked == [upstream[3]]


# --- the pool


def pooled(pool_bytes, segment_bytes=16):
    return CausalLog("l1.0", layers(3), pool_bytes=pool_bytes, segment_bytes=segment_bytes)


def test_a_pool_without_room_names_task_contents_and_remedy():
    log = pooled(64)
    log.append("out-0", BufferBuilt(1), 0)
    for _ in range(5):
        log.append("main", Timestamp(1), 3)
    with pytest.raises(PoolExhausted) as caught:
        log.append("main", Timestamp(1), 3)
    fault = caught.value
    assert (fault.task, fault.pool) == ("l1.0", "determinants")
    assert str(fault) == (
        "the determinant pool of l1.0 is full: its 4 segments of 16 bytes hold 59 bytes of 4 logs, 91 % of them "
        "timestamp determinants, and most of l1.0/main. Make the pool larger, share determinants less deep, "
        "complete checkpoints more often, or let operators make fewer choices."
    )


def test_what_is_received_fills_the_pool_too():
    log = pooled(64)
    data = encode(Timestamp(1)) * 8
    with pytest.raises(PoolExhausted, match=r"most of l0\.1/main"):
        log.apply([DeltaEntry(LogId("l0.1", "main"), 0, 0, data)], "l0.1>l1.0")


@pytest.mark.parametrize("seed", SEEDS)
def test_truncation_gives_back_every_segment_that_is_not_needed(seed):
    chance = Random(seed)
    log, oldest, most = pooled(1 << 16), 0, 0
    for _ in range(300):
        if chance.random() < 0.1:
            oldest += chance.randrange(2)
            log.truncate(oldest)
        elif chance.random() < 0.5:
            log.append(chance.choice(["main", "out-0", "out-1"]), Rng(1), oldest + chance.randrange(3))
        else:
            of = LogId(f"l0.{chance.randrange(3)}", "main")
            held, epoch = log.received.get(of), oldest + chance.randrange(3)
            at = held.length_of(epoch) if held else 0
            log.apply([DeltaEntry(of, epoch, at, bytes(chance.randrange(40)))], f"{of.task}>l1.0")
        logs = [*log.own.values(), *(log.received.get(one) for one in log.received)]
        needed = sum(-(-one.length_bytes // 16) for one in logs)
        most = max(most, needed)
        assert log.pool.used == needed, f"seed {seed}"
    assert log.pool.high_water == most
