"""What a task holds of others' logs, and what it passes on."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from replay.errors import CorruptRecording, DeltaGap, InvariantError
from replay.log.causal_log import CausalLog, Copy, HeldLogs, merge_copies
from replay.log.codec import encode
from replay.log.deltas import DeltaEntry, LogIds, WireId, decode_message
from replay.log.determinants import BufferBuilt, Rng
from replay.model import LogId
from tests.replay.log.clonos import VECTORS, ids_of, log_id, scenarios
from tests.replay.log.graphs import chain, graph

MAIN = LogId("a.0", "main")
OUT = LogId("a.0", "out-0")


# --- Clonos' vectors, on the receiver's side


def received_after(op, node):
    """The logs of other vertices that the receiver held in Clonos after this message: {log: bytes of all epochs}."""
    own = {task["vertex"] for task in node["tasks"]}
    return {
        log_id(one["log"]): bytes.fromhex(one["determinants_from_earliest_epoch_hex"])
        for one in op["logs_after"]
        if one["log"]["vertex"] not in own
    }


WITH_RECEIVERS = [one for one in scenarios() if any(op["op"] == "process" for op in one["ops"])]


@pytest.mark.parametrize("scenario", WITH_RECEIVERS, ids=lambda one: one["name"])
def test_a_receiver_holds_what_clonos_held_after_the_same_messages(scenario):
    ids, layout = ids_of(scenario), scenario["nodes"][0]["strategy"].lower()
    nodes = {node["name"]: node for node in scenario["nodes"]}
    held = {name: HeldLogs(name) for name in nodes}
    for op in scenario["ops"]:
        if op["op"] != "process":
            continue
        receiver = held[op["node"]]
        before = everything(receiver)
        entries = decode_message(bytes.fromhex(op["delta_hex"]), ids, layout)
        if "exception" in op:
            # Clonos' network thread dies of it; ours names the place, and applies nothing of the message.
            with pytest.raises(DeltaGap) as caught:
                receiver.apply(entries, op["from"])
            assert (caught.value.channel, caught.value.log) == (op["from"], entries[0].log)
            assert (caught.value.epoch, caught.value.offset) == (entries[0].epoch, entries[0].offset)
            assert everything(receiver) == before
        else:
            receiver.apply(entries, op["from"])
        after = {log: data for log, data in received_after(op, nodes[op["node"]]).items() if data}
        assert everything(receiver) == after


def everything(held):
    return {log: b"".join(data for _, data in held.get(log).since(0)) for log in held}


# --- and on the sender's, where one task is one node

CHAINS = [one for one in scenarios() if "-upstream-" in one["name"]]


def causal_logs(depth):
    job = graph(
        [("v2.0", "v5.0"), ("v2.0", "v5.1"), ("v5.0", "v9.0"), ("v5.0", "v9.1")],
        numbers={"v2.0": 2, "v5.0": 5, "v9.0": 9, "v5.1": 50, "v9.1": 90},
        partitions={"v2.0": (7, 9), "v5.0": (72623859790382856, 1230066625199609624)},
    )
    tasks = {"A": "v2.0", "B": "v5.0", "C": "v9.0"}
    return {node: CausalLog(task, job, sharing_depth=depth) for node, task in tasks.items()}


@pytest.mark.parametrize("scenario", CHAINS, ids=lambda one: one["name"])
def test_a_sender_passes_on_what_clonos_passed_on(scenario):
    depth = scenario["nodes"][0]["determinant_sharing_depth"]
    logs = causal_logs(depth)
    channels = {"a0": "v2.0>v5.0", "b0": "v5.0>v9.0", "b1": "v5.0>v9.1"}
    ids, layout = ids_of(scenario), scenario["nodes"][0]["strategy"].lower()
    for op in scenario["ops"]:
        log = logs[op["node"]]
        if op["op"] == "register_downstream_consumer":
            log.register_consumer(channels[op["channel"]])
        elif op["op"] == "append":
            where = log_id(op["log"])
            log.own[where.thread].append_bytes(bytes.fromhex(op["determinant_hex"]), op["epoch"])
        elif op["op"] == "enrich":
            sent = decode_message(bytes.fromhex(op["delta_hex"]), ids, layout)
            assert sorted(log.delta_for(channels[op["channel"]]), key=str) == sorted(sent, key=str)
        else:
            log.apply(decode_message(bytes.fromhex(op["delta_hex"]), ids, layout), op["from"])


# --- answers


MERGES = [one for one in json.loads((VECTORS / "responses.json").read_text()) if one["kind"] == "merge"]


def copies(vector, side):
    if vector.get(f"{side}_logs") is not None:
        return [Copy(side, log_id(one["log"]), 0, bytes.fromhex(one["hex"])) for one in vector[f"{side}_logs"]]
    data = vector[f"{side}_hex"]
    return (
        []
        if data is None or not vector[f"{side}_found"]
        else [Copy(side, LogId("v2.0", "main"), 0, bytes.fromhex(data))]
    )


@pytest.mark.parametrize("vector", MERGES, ids=lambda one: one["case"])
def test_answers_merge_as_in_clonos_as_long_as_the_shorter_is_a_prefix(vector):
    merged = merge_copies(copies(vector, "this") + copies(vector, "other"))
    result = {log_id(one["log"]): bytes.fromhex(one["hex"]) for one in vector["result"]}
    assert {log: one.data for (log, _), one in merged.items()} == result


ANSWERS = [one for one in json.loads((VECTORS / "responses.json").read_text()) if one["kind"] == "respond"]


def test_a_holder_answers_what_clonos_answers():
    held, asked = HeldLogs("v5.0"), 0
    for vector in ANSWERS:
        for op in vector["setup_ops"] or []:
            if op["op"] == "process":
                held.apply(decode_message(bytes.fromhex(op["delta_hex"]), CLONOS_IDS, "flat"), op["from"])
        if vector["failed_vertex"] == 5:
            continue  # its own logs, which ours does not hold as a copy
        logs = held.of_task(f"v{vector['failed_vertex']}.0")
        from_epoch = {
            log: b"".join(data for _, data in copy.since(vector["start_epoch"])) for log, copy in logs.items()
        }
        assert from_epoch == {log_id(one["log"]): bytes.fromhex(one["hex"]) for one in vector["determinants"]}
        asked += 1
    assert asked > 4


CLONOS_IDS = LogIds({LogId("v2.0", "main"): WireId(2), LogId("v2.0", "out-0"): WireId(2, (7, 9), 0)})


def test_copies_that_differ_are_a_corrupt_recording_that_names_both_holders():
    with pytest.raises(CorruptRecording) as caught:
        merge_copies([Copy("b.0", MAIN, 3, b"abcd"), Copy("c.1", MAIN, 3, b"abXde")])
    assert caught.value.holders == ("b.0", "c.1")
    assert caught.value.offset == 2
    assert "b.0 and c.1 hold different bytes of a.0/main, epoch 3, at offset 2" in str(caught.value)


@given(st.binary(max_size=30), st.lists(st.integers(0, 30), min_size=1, max_size=5))
def test_prefixes_merge_to_the_longest(whole, cuts):
    merged = merge_copies(Copy(f"h{i}", MAIN, 0, whole[:cut]) for i, cut in enumerate(cuts))
    assert merged[MAIN, 0].data == whole[: max(cuts)]


# --- dedup and gaps


def entry(offset, data, log=MAIN, epoch=0):
    return DeltaEntry(log, epoch, offset, data)


def test_what_is_known_is_dropped_and_what_overlaps_is_cut():
    held = HeldLogs("b.0")
    assert held.apply([entry(0, b"abc")], "a.0>b.0") == [entry(0, b"abc")]
    assert held.apply([entry(0, b"abc")], "a.0>b.0") == []
    assert held.apply([entry(1, b"bcde")], "a.0>b.0") == [entry(3, b"de")]
    assert held.apply([entry(2, b"c")], "a.0>b.0") == []
    assert held.get(MAIN).bytes_of(0) == b"abcde"


def test_a_gap_names_channel_log_epoch_and_offset_and_nothing_of_its_message_is_applied():
    held = HeldLogs("b.0")
    held.apply([entry(0, b"abc")], "a.0>b.0")
    with pytest.raises(DeltaGap) as caught:
        held.apply(
            [entry(3, b"d"), entry(0, b"x", OUT), entry(9, b"z", epoch=0, log=OUT)], "a.0>b.0", path="x.dlt", at=77
        )
    fault = caught.value
    assert (fault.channel, fault.log, fault.epoch) == ("a.0>b.0", OUT, 0)
    assert (fault.path, fault.offset) == ("x.dlt", 77)
    assert "the delta on a.0>b.0 begins at offset 9 of a.0/out-0, epoch 0, where b.0 holds 1 bytes" in str(fault)
    assert everything(held) == {MAIN: b"abc"}


def test_two_entries_of_one_log_in_one_sending_follow_one_another():
    held = HeldLogs("b.0")
    held.apply([entry(0, b"ab"), entry(2, b"cd"), entry(1, b"bcde")], "a.0>b.0")
    assert held.get(MAIN).bytes_of(0) == b"abcde"


def test_bytes_that_contradict_what_is_held_are_a_corrupt_recording():
    held = HeldLogs("b.0")
    held.apply([entry(0, b"abcdef")], "a.0>b.0")
    with pytest.raises(CorruptRecording) as caught:
        held.apply([entry(6, b"g"), entry(2, b"cdXf")], "a.0>b.0")
    assert caught.value.holders == ("b.0", "a.0>b.0")
    assert caught.value.offset == 4
    assert held.get(MAIN).bytes_of(0) == b"abcdef"


def test_an_epoch_without_bytes_does_not_leak_into_the_one_before():
    # In Clonos the bytes of epoch 2 would be taken for epoch 0's, since epoch 1 never logged anything.
    log = CausalLog("t0.0", chain(3))
    log.register_consumer("t0.0>t1.0")
    log.append("main", Rng(1), 0)
    log.append("main", Rng(2), 2)
    main = LogId("t0.0", "main")
    assert log.delta_for("t0.0>t1.0") == [
        DeltaEntry(main, 0, 0, encode(Rng(1))),
        DeltaEntry(main, 2, 0, encode(Rng(2))),
    ]


def test_late_bytes_of_an_old_epoch_are_neither_lost_nor_misplaced():
    held = HeldLogs("b.0")
    held.apply([entry(0, b"ab"), entry(0, b"xyz", epoch=1)], "a.0>b.0")
    held.apply([entry(0, b"abcd")], "a.0>b.1")
    assert dict(held.get(MAIN).since(0)) == {0: b"abcd", 1: b"xyz"}


def test_epochs_that_were_truncated_are_not_taken_in_again():
    held = HeldLogs("b.0")
    held.apply([entry(0, b"ab"), entry(0, b"cd", epoch=1)], "a.0>b.0")
    held.truncate(1)
    assert held.apply([entry(7, b"old"), entry(2, b"e", epoch=1)], "a.0>b.0") == [entry(2, b"e", epoch=1)]
    assert everything(held) == {MAIN: b"cde"}


# --- sharing


def test_a_consumer_is_sent_the_main_log_and_that_of_its_own_output_only():
    log = CausalLog("a.0", graph([("a.0", "b.0"), ("a.0", "b.1")]))
    for k in range(2):
        log.append(f"out-{k}", BufferBuilt(k), 0)
        log.register_consumer(f"a.0>b.{k}")
    log.append("main", Rng(1), 0)
    assert [one.log.thread for one in log.delta_for("a.0>b.1")] == ["main", "out-1"]
    assert log.delta_for("a.0>b.1") == []
    log.append("main", Rng(2), 0)
    assert log.delta_for("a.0>b.1") == [DeltaEntry(MAIN, 0, 5, encode(Rng(2)))]
    assert [one.offset for one in log.delta_for("a.0>b.0")] == [0, 0]


@pytest.mark.parametrize(("depth", "forwarded"), [(0, None), (1, []), (2, [2]), (3, [1, 2]), (None, [0, 1, 2])])
def test_logs_are_passed_on_within_the_sharing_depth(depth, forwarded):
    job = chain(5)
    log = CausalLog("t3.0", job, sharing_depth=depth)
    log.register_consumer("t3.0>t4.0")
    log.append("main", Rng(7), 0)
    log.apply([DeltaEntry(LogId(f"t{i}.0", "main"), 0, 0, b"x") for i in range(3)], "t2.0>t3.0")
    found = [one.log.task for one in log.delta_for("t3.0>t4.0")]
    assert found == ([] if forwarded is None else ["t3.0", *(f"t{i}.0" for i in forwarded)])
    # The receiver stores every log that it gets, whether or not it passes it on.
    assert [one.log.task for one in log.held("t0.0")] == ["t0.0"]


def test_a_new_attempt_of_the_receiver_is_sent_everything_from_its_epoch_on():
    log = CausalLog("t0.0", chain(2))
    log.register_consumer("t0.0>t1.0")
    for epoch in range(3):
        log.append("main", Rng(epoch), epoch)
    assert len(log.delta_for("t0.0>t1.0")) == 3
    log.register_consumer("t0.0>t1.0", from_epoch=1)
    assert [one.epoch for one in log.delta_for("t0.0>t1.0")] == [1, 2]


def test_nobody_is_sent_anything_without_registering():
    with pytest.raises(InvariantError, match=r"no consumer is registered on t0\.0>t1\.0"):
        CausalLog("t0.0", chain(2)).delta_for("t0.0>t1.0")


def test_another_lineage_of_a_task_starts_afresh():
    log = CausalLog("t1.0", chain(3))
    log.register_consumer("t1.0>t2.0")
    upstream = LogId("t0.0", "main")
    log.apply([DeltaEntry(upstream, 0, 0, b"kept"), DeltaEntry(upstream, 1, 0, b"undone")], "t0.0>t1.0")
    log.delta_for("t1.0>t2.0")
    log.forget("t0.0", from_epoch=1)
    log.apply([DeltaEntry(upstream, 1, 0, b"other")], "t0.0>t1.0")
    assert [one.data for one in log.held("t0.0")] == [b"kept", b"other"]
    assert log.delta_for("t1.0>t2.0") == [DeltaEntry(upstream, 1, 0, b"other")]


class ChainOfLogs(RuleBasedStateMachine):
    """Three tasks in a row that append, send, lose and truncate; the model is what each appended."""

    @initialize(depth=st.sampled_from([1, 2, None]))
    def start(self, depth):
        job = chain(3)
        self.depth = depth
        self.logs = [CausalLog(f"t{i}.0", job, sharing_depth=depth) for i in range(3)]
        self.appended = {}
        self.oldest = [0, 0, 0]
        for i in (0, 1):
            self.logs[i].register_consumer(f"t{i}.0>t{i + 1}.0")

    @rule(i=st.integers(0, 1), value=st.integers(0, 9), ahead=st.integers(0, 2))
    def append(self, i, value, ahead):
        epoch = self.oldest[i] + ahead
        data = encode(Rng(value))
        self.logs[i].append("main", Rng(value), epoch)
        self.appended[i, epoch] = self.appended.get((i, epoch), b"") + data

    @rule(i=st.integers(0, 1))
    def send(self, i):
        channel = f"t{i}.0>t{i + 1}.0"
        delta = self.logs[i].delta_for(channel)
        assert all(one.data for one in delta)
        assert [one.epoch for one in delta] == sorted(one.epoch for one in delta)
        self.logs[i + 1].apply(delta, channel)

    @rule(i=st.integers(0, 1))
    def receiver_comes_anew(self, i):
        channel = f"t{i}.0>t{i + 1}.0"
        self.logs[i].register_consumer(channel, self.oldest[i])
        self.send(i)

    @rule(to=st.integers(1, 2))
    def checkpoint_completes(self, to):
        for i, log in enumerate(self.logs):
            self.oldest[i] += to
            log.truncate(self.oldest[i])

    @invariant()
    def every_copy_is_a_prefix_of_what_was_appended(self):
        for at in (1, 2):
            for i in range(at):
                for copy in self.logs[at].held(f"t{i}.0"):
                    assert self.appended[i, copy.epoch].startswith(copy.data)
                    assert copy.epoch >= self.oldest[at]

    @invariant()
    def the_last_holds_of_the_first_only_within_the_depth(self):
        if self.depth == 1:
            assert self.logs[2].held("t0.0") == []


TestChainOfLogs = ChainOfLogs.TestCase
