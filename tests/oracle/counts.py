"""Record counts, recounted from the buffers; and what choices say of themselves: calls, timers, checkpoints."""

import json
import re

FAULT = {"type", "message"}


def check_counts(recording):
    """A receipt's record count is that of the elements taken before it in the epoch."""
    for task, attempt in recording.each_attempt():
        inputs = recording.tasks[task]["inputs"]
        if not inputs or not recording.keeps_logs or recording.diverged:
            continue
        taken = []
        for i, channel in enumerate(inputs):
            receipts = recording.taken(task, attempt, channel)
            taken += zip(receipts, _elements(recording, channel, receipts), [i] * len(receipts), strict=True)
        taken.sort(key=_place)
        epoch, count = None, 0
        for receipt, elements, i in taken:
            if receipt.main_epoch != epoch:
                epoch, count = receipt.main_epoch, 0
            if receipt.record_count != count:
                where = f"tasks/{task}/{attempt}/received-{i}: buffer {receipt.seq}"
                yield f"{where} was taken at record count {receipt.record_count}, and {count} elements before it"
                break
            count += elements
        yield from _check_interruptions(recording, task, attempt, [one[0] for one in taken])


def _place(taken):
    """Those that hold no element, as barriers, change neither count nor log: at one place they come first."""
    receipt, elements, _ = taken
    return receipt.main_epoch, receipt.record_count, receipt.main_offset, receipt.taken_us, elements


def _elements(recording, channel, receipts):
    """Of each buffer, how many records end in it, or that it is a watermark."""
    stream = b""
    for receipt in receipts:
        frame = recording.buffer(channel, receipt.sender_attempt, receipt.seq)
        if frame is None or frame.event is not None:
            stream = b""
            yield int(frame is not None and "watermark" in frame.event)
            continue
        stream, ended = stream + frame.payload, 0
        while len(stream) >= 4 and len(stream) >= 4 + int.from_bytes(stream[:4], "big"):
            stream, ended = stream[4 + int.from_bytes(stream[:4], "big") :], ended + 1
        yield ended


def _check_interruptions(recording, task, attempt, receipts):
    """What stands behind an interruption in the log was taken at its record count or later, what stands before not."""
    for epoch, offset, kind, fields in recording.determinants(task, attempt, "main"):
        count = fields.get("record_count")
        if count is None:
            continue
        of_epoch = [one for one in receipts if one.main_epoch == epoch]
        early = [one for one in of_epoch if one.main_offset <= offset and one.record_count > count]
        late = [one for one in of_epoch if one.main_offset > offset and one.record_count < count]
        if early or late:
            yield f"tasks/{task}/{attempt}/main/{epoch} at {offset}: a {kind} at record count {count} among others'"


def check_choices(recording):
    """Calls are well formed; periodic clocks are read where their timer fired; a source begins what it triggers."""
    services = {one["id"]: one.get("services", {}) for one in recording.manifest["vertices"]}
    for task, attempt in recording.each_attempt():
        periodic = services[recording.tasks[task]["vertex"]].get("time", "call").startswith("periodic:")
        found = recording.determinants(task, attempt, "main")
        logs = recording.logs(task, attempt, "main")
        for at, (epoch, offset, kind, fields) in enumerate(found):
            where = f"tasks/{task}/{attempt}/main/{epoch} at {offset}"
            if kind == "serializable":
                yield from _check_call(where, fields["payload"])
            elif kind == "timer-trigger":
                after = found[at + 1] if at + 1 < len(found) and found[at + 1][0] == epoch else None
                if fields["callback"] == "internal:time" and not (
                    periodic and (after is None or after[2] == "timestamp")
                ):
                    yield f"{where}: the clock's timer fired, and no time was read"
            elif kind == "source-checkpoint":
                if recording.tasks[task]["inputs"]:
                    yield f"{where}: {task} is no source, and triggered checkpoint {fields['checkpoint']}"
                elif fields["checkpoint"] <= epoch or (at + 1 < len(found) and found[at + 1][0] == epoch):
                    yield f"{where}: checkpoint {fields['checkpoint']} does not end epoch {epoch}"
                elif any(epoch < one < fields["checkpoint"] for one in logs):
                    yield f"{where}: an epoch lies between {epoch} and {fields['checkpoint']}"


def _check_call(where, payload):
    content_type, content = payload[2], payload[7:]
    if content_type > 3:
        yield f"{where}: an object of content type {content_type}"
        return
    if content_type != 3:
        return
    try:
        call = json.loads(content)
    except ValueError:
        yield f"{where}: a call that is no JSON"
        return
    answered = [one for one in ("value", "raised") if one in call]
    if not re.fullmatch(r"\w+", str(call.get("call", ""))) or len(answered) != 1:
        yield f"{where}: a call that says {sorted(call)}"
    elif answered == ["raised"] and set(call["raised"]) != FAULT:
        yield f"{where}: a call that raised {call['raised']}"


CHECKS = (check_counts, check_choices)
