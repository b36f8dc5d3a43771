"""Buffers, sendings and receipts: each names what the other side has."""

import json
from collections import Counter
from itertools import zip_longest


def check_buffers(recording):
    for task, attempt in recording.each_attempt():
        snapshot = recording.snapshot_for(task, attempt)
        for k, output in enumerate(recording.tasks[task]["outputs"]):
            frames = recording.frames(task, attempt, f"sent-{k}", "buf")
            where = f"tasks/{task}/{attempt}/sent-{k}"
            yield from _check_numbers(where, frames, snapshot["outputs"].get(output["channel"], 0))
            yield from _check_epochs(where, frames)
            yield from _check_records(where, frames)
            if recording.keeps_logs:
                yield from _check_sizes(recording, where, task, attempt, k, frames)
                yield from _check_cuts(recording, where, task, attempt, frames)


def _check_numbers(where, frames, first):
    for expected, frame in enumerate(frames, first):
        if frame.seq != expected:
            yield f"{where}: buffer {frame.seq} stands where {expected} must"
            return
    times = [frame.t_us for frame in frames]
    if times != sorted(times):
        yield f"{where}: buffers are not in the order cut"


def _check_epochs(where, frames):
    for frame, after in zip_longest(frames, frames[1:]):
        ends = frame.event is not None and "barrier" in frame.event
        if ends and frame.event["barrier"] <= frame.epoch:
            yield f"{where}: barrier {frame.event['barrier']} lies in epoch {frame.epoch}"
        if after and ends and after.epoch != frame.event["barrier"]:
            yield f"{where}: buffer {after.seq} behind barrier {frame.event['barrier']} is of epoch {after.epoch}"
        if after and not ends and after.epoch != frame.epoch:
            yield f"{where}: epoch {after.epoch} begins without a barrier"


def _check_records(where, frames):
    stream = b""
    for frame in frames:
        if frame.event is not None:
            if stream:
                yield f"{where}: a record spans the event in buffer {frame.seq}"
            if len(frame.event) != 1 or not set(frame.event) <= {"barrier", "watermark", "end"}:
                yield f"{where}: buffer {frame.seq} carries the event {frame.event}"
            stream = b""
            continue
        stream += frame.payload
        while len(stream) >= 4 and len(stream) >= 4 + int.from_bytes(stream[:4], "big"):
            end = 4 + int.from_bytes(stream[:4], "big")
            record, stream = json.loads(stream[4:end]), stream[end:]
            if not isinstance(record, list) or len(record) not in (3, 4) or not isinstance(record[1], int):
                yield f"{where}: buffer {frame.seq} ends a record that is none: {record}"


def _check_sizes(recording, where, task, attempt, k, frames):
    built = [
        (epoch, fields["buffer_bytes"]) for epoch, _, _, fields in recording.determinants(task, attempt, f"out-{k}")
    ]
    if built != [(frame.epoch, len(frame.payload)) for frame in frames]:
        yield f"{where}: its buffers are not those that out-{k} says were built"


def _check_cuts(recording, where, task, attempt, frames):
    logs = recording.logs(task, attempt, "main")
    before = (-1, 0)
    for frame in frames:
        at = (frame.main_epoch, frame.main_offset)
        if at < before or frame.main_epoch < frame.epoch:
            yield f"{where}: buffer {frame.seq} was cut at {at}, behind one at {before}"
        if frame.main_offset > len(logs.get(frame.main_epoch, b"")):
            yield f"{where}: buffer {frame.seq} was cut past the end of main, epoch {frame.main_epoch}"
        before = at


def check_sendings(recording):
    for task, attempt in recording.each_attempt():
        for k, output in enumerate(recording.tasks[task]["outputs"]):
            where = f"tasks/{task}/{attempt}/sent-{k}"
            buffers = {frame.seq: frame for frame in recording.frames(task, attempt, f"sent-{k}", "buf")}
            target = recording.channels[output["channel"]][2]
            counts = Counter()
            for sending in recording.frames(task, attempt, f"sent-{k}", "dlt"):
                yield from _check_sending(where, sending, buffers.get(sending.seq), counts[sending.seq])
                counts[sending.seq] += 1
                if recording.start_of(target, sending.receiver_attempt) is None:
                    yield f"{where}: sent to attempt {sending.receiver_attempt} of {target}, which never was"


def _check_sending(where, sending, buffer, count):
    if buffer is None:
        yield f"{where}: sending of buffer {sending.seq}, which was never cut"
        return
    if sending.epoch != buffer.epoch:
        yield f"{where}: a sending of buffer {sending.seq} is filed under another epoch"
    if sending.t_us < buffer.t_us:
        yield f"{where}: buffer {sending.seq} was sent before it was cut"
    if sending.sending != count:
        yield f"{where}: sending {sending.sending} of buffer {sending.seq} stands where {count} must"
    if buffer.flags & 2 and not sending.flags & 1:
        yield f"{where}: buffer {sending.seq} was held back, and sent not from the in-flight log"


def check_receipts(recording):
    for task, attempt in recording.each_attempt():
        for i, channel in enumerate(recording.tasks[task]["inputs"]):
            where = f"tasks/{task}/{attempt}/received-{i}"
            receipts = recording.frames(task, attempt, f"received-{i}", "rcv")
            first = recording.snapshot_for(task, attempt)["inputs"].get(channel, 0)
            yield from _check_order(where, receipts)
            yield from _check_taking(recording, where, channel, (task, attempt), first)
            for receipt in receipts:
                yield from _check_receipt(recording, where, channel, attempt, receipt)
            named = Counter((one.sender_attempt, one.seq, one.sending) for one in receipts)
            for sending, count in named.items():
                if count > 1:
                    yield f"{where}: sending {sending} was received {count} times"


def _check_order(where, receipts):
    by_epoch = {}
    for receipt in receipts:
        by_epoch.setdefault(receipt.epoch, []).append(receipt)
    for epoch, frames in by_epoch.items():
        taken = [one.taken_us != -1 for one in frames]
        if taken != sorted(taken, reverse=True):
            yield f"{where}: in epoch {epoch}, one that was never taken stands before one that was"
        for at in ("taken_us", "received_us"):
            times = [getattr(one, at) for one in frames if (one.taken_us != -1) == (at == "taken_us")]
            if times != sorted(times):
                yield f"{where}: in epoch {epoch}, receipts are not in the order of {at}"


def _check_taking(recording, where, channel, receiver, first):
    """Whatever is taken goes on where the one before ended; who sends with choices of its own begins with an epoch."""
    taken = recording.taken(*receiver, channel)
    source = recording.channels[channel][0]
    lineages = [[]]
    for before, one in zip_longest([None, *taken], taken):
        if one is None:
            continue
        if before is not None and one.sender_attempt < before.sender_attempt:
            yield f"{where}: took from attempt {one.sender_attempt} after attempt {before.sender_attempt}"
        anew = before is not None and one.sender_attempt != before.sender_attempt
        if anew and recording.is_free(source, one.sender_attempt):
            lineages.append([])
        lineages[-1].append(one)
    for n, row in enumerate(lineages):
        numbers = [one.seq for one in row]
        expected = first if n == 0 and not _may_begin_late(recording, receiver, source, row) else None
        if numbers and expected is None:
            expected = numbers[0]
            starts = _first_numbers(recording, channel, row[0].sender_attempt)
            if recording.protocol != "none" and expected not in starts:
                yield f"{where}: began with buffer {expected}, which is no epoch's first"
        if numbers != list(range(expected or 0, (expected or 0) + len(numbers))):
            yield f"{where}: took buffers {numbers[:5]}…{numbers[-3:]}, and had to begin at {expected}"


def _may_begin_late(recording, receiver, source, row):
    """What was sent while a receiver was away is lost in gap recovery; a divergent sender begins at a checkpoint."""
    if not row:
        return False
    if recording.protocol == "none":
        return receiver[1] > 0 or row[0].sender_attempt > 0
    return row[0].sender_attempt > 0 and recording.is_free(source, row[0].sender_attempt)


def _first_numbers(recording, channel, attempt):
    source, k, _, _ = recording.channels[channel]
    firsts = {}
    for frame in recording.frames(source, attempt, f"sent-{k}", "buf"):
        firsts.setdefault(frame.epoch, frame.seq)
    return set(firsts.values())


def _check_receipt(recording, where, channel, attempt, receipt):
    source, k, _, _ = recording.channels[channel]
    sendings = recording.frames(source, receipt.sender_attempt, f"sent-{k}", "dlt")
    found = [one for one in sendings if (one.seq, one.sending) == (receipt.seq, receipt.sending)]
    what = f"{where}: buffer {receipt.seq} of attempt {receipt.sender_attempt}, sending {receipt.sending}"
    if len(found) != 1:
        yield f"{what} was received and never sent"
        return
    if found[0].receiver_attempt != attempt:
        yield f"{what} was meant for attempt {found[0].receiver_attempt}"
    if found[0].epoch != receipt.epoch:
        yield f"{what} is filed under another epoch than its sender's"
    if receipt.received_us < found[0].t_us or (receipt.taken_us != -1 and receipt.taken_us < receipt.received_us):
        yield f"{what} was received before it was sent, or taken before it was received"
    if receipt.taken_us == -1 and (receipt.main_epoch, receipt.main_offset, receipt.record_count) != (-1, -1, -1):
        yield f"{what} was never taken, and says where it was"


def check_orders(recording):
    """Every taken buffer but barriers has an order determinant, just where its receipt says."""
    for task, attempt in recording.each_attempt():
        inputs = recording.tasks[task]["inputs"]
        if not recording.keeps_logs or not inputs:
            continue
        logs = recording.logs(task, attempt, "main")
        expected = set()
        for i, channel in enumerate(inputs):
            source, k, _, _ = recording.channels[channel]
            for receipt in recording.frames(task, attempt, f"received-{i}", "rcv"):
                sent = recording.frames(source, receipt.sender_attempt, f"sent-{k}", "buf")
                frame = next((one for one in sent if one.seq == receipt.seq), None)
                barrier = frame is not None and frame.event is not None and "barrier" in frame.event
                if receipt.taken_us != -1 and not barrier:
                    expected.add((receipt.main_epoch, receipt.main_offset, i))
        found = {
            (epoch, offset, fields["channel"])
            for epoch, offset, kind, fields in recording.determinants(task, attempt, "main")
            if kind == "order"
        }
        if found != (expected if len(inputs) > 1 else set()):
            odd = sorted(found ^ expected)[:3]
            yield f"tasks/{task}/{attempt}/main: order determinants and receipts disagree, first at {odd}"
        for epoch, offset, _ in expected:
            if offset > len(logs.get(epoch, b"")):
                yield f"tasks/{task}/{attempt}: a buffer was taken past the end of main, epoch {epoch}"


CHECKS = (check_buffers, check_sendings, check_receipts, check_orders)
