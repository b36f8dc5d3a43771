"""Logs, the deltas that carry them, and what a recovery made of them."""

from collections import deque

ASYNCHRONOUS = ("timer-trigger", "source-checkpoint", "ignore-checkpoint")


def check_kinds(recording):
    """Main threads log choices, output threads the buffers that they built."""
    for task, attempt in recording.each_attempt():
        for k in range(len(recording.tasks[task]["outputs"])):
            kinds = {kind for _, _, kind, _ in recording.determinants(task, attempt, f"out-{k}")}
            if kinds - {"buffer-built"}:
                yield f"tasks/{task}/{attempt}/out-{k}: logs {sorted(kinds)}"
        counts = {}
        for epoch, offset, kind, fields in recording.determinants(task, attempt, "main"):
            where = f"tasks/{task}/{attempt}/main/{epoch} at {offset}"
            if kind == "buffer-built" or (kind == "take" and recording.manifest["determinants"] != "extended"):
                yield f"{where}: a {kind} does not belong there"
            if kind in ASYNCHRONOUS:
                if fields["record_count"] < counts.get(epoch, 0):
                    yield f"{where}: a {kind} at record count {fields['record_count']} follows a later one"
                counts[epoch] = fields["record_count"]


def distances_from(recording, task):
    hops, waiting = {task: 0}, deque([task])
    while waiting:
        one = waiting.popleft()
        for output in recording.tasks[one]["outputs"]:
            target = recording.channels[output["channel"]][2]
            if target not in hops:
                hops[target] = hops[one] + 1
                waiting.append(target)
    return hops


def threads_by_wire(recording):
    found = {}
    for task in recording.manifest["tasks"]:
        found[task["number"], None] = (task["id"], "main")
        for k, output in enumerate(task["outputs"]):
            lower, upper = output.get("partition", [0, 0])
            found[task["number"], (lower, upper, output.get("sub", k))] = (task["id"], f"out-{k}")
    return found


def check_deltas(recording, delta_messages):
    """A delta is the named log's bytes, follows the one before it, and stays within the sharing depth."""
    threads = threads_by_wire(recording)
    hops = {task: distances_from(recording, task) for task in recording.tasks}
    for task, attempt in recording.each_attempt():
        for k in range(len(recording.tasks[task]["outputs"])):
            where = f"tasks/{task}/{attempt}/sent-{k}"
            sent = {}
            sendings = recording.frames(task, attempt, f"sent-{k}", "dlt")
            for sending in sorted(sendings, key=lambda one: one.t_us):
                if sending.delta and not recording.shares:
                    yield f"{where}: carries deltas, and none are shared"
                epochs = []
                for epoch, entries in delta_messages(sending.delta):
                    epochs.append(epoch)
                    for number, output, offset, data in entries:
                        log = threads.get((number, output))
                        if log is None:
                            yield f"{where}: a delta names task number {number}, output {output}"
                            continue
                        yield from _check_sharing(recording, where, hops, task, k, log)
                        yield from check_bytes(recording, where, (task, attempt), log, epoch, offset, data)
                        key = sending.receiver_attempt, log, epoch
                        if not data or offset not in (sent.get(key, 0), 0):
                            yield f"{where}: delta of {log}, epoch {epoch}: {offset} follows {sent.get(key, 0)}"
                        sent[key] = offset + len(data)
                if epochs != sorted(set(epochs)):
                    yield f"{where}: messages of epochs {epochs} in one sending"
                yield from _check_own(recording, where, (task, attempt, k), sending, sent)


def _check_sharing(recording, where, hops, task, k, log):
    of, thread = log
    if of == task:
        if thread not in ("main", f"out-{k}"):
            yield f"{where}: carries {log}, which is another output's"
        return
    distance = hops[of].get(task)
    if distance is None:
        yield f"{where}: carries {log}, which is not upstream"
    elif recording.depth != "full" and distance + 1 > recording.depth:
        yield f"{where}: carries {log}, which is beyond the sharing depth {recording.depth}"


def check_bytes(recording, where, sender, log, epoch, offset, data):
    of, thread = log
    attempts = [sender[1]] if of == sender[0] else recording.attempts.get(of, [])
    for attempt in attempts:
        if recording.logs(of, attempt, thread).get(epoch, b"")[offset : offset + len(data)] == data:
            return
    yield f"{where}: a delta of {log}, epoch {epoch}, offset {offset} is not that log's bytes in any attempt"


def _check_own(recording, where, sender, sending, sent):
    """A buffer carries its own buffer-built determinant, at the latest with this sending."""
    task, attempt, k = sender
    if not recording.shares:
        return
    if recording.binds_nobody(task, sending.epoch, sending.t_us):
        return
    of_epoch = [one.seq for one in recording.frames(task, attempt, f"sent-{k}", "buf") if one.epoch == sending.epoch]
    needed = 5 * (of_epoch.index(sending.seq) + 1) if sending.seq in of_epoch else 0
    if sent.get((sending.receiver_attempt, (task, f"out-{k}"), sending.epoch), 0) < needed:
        yield f"{where}: buffer {sending.seq} went to attempt {sending.receiver_attempt} without its own determinant"


def check_recoveries(recording):
    """What was returned is what the attempt before had logged, and is appended again byte by byte."""
    for event in recording.events:
        if event["type"] != "determinants-received" or event["to"] != event["of"]:
            continue
        task, attempt = event["of"], event["attempt"]
        if _voided(recording, event):
            continue
        for of, thread, epoch, upto in event["logs"]:
            ours = recording.logs(of, attempt, thread).get(epoch, b"")
            earlier = [
                recording.logs(of, one, thread).get(epoch, b"") for one in recording.attempts[of] if one < attempt
            ]
            repeated = any(len(one) >= upto and one[:upto] == ours[:upto] for one in earlier)
            # An attempt that itself failed may have had no time for it.
            if attempt == max(recording.attempts[task]) and not (of == task and repeated):
                where = f"event {event['n']}: {of}/{thread}, epoch {epoch}"
                yield f"{where}: attempt {attempt} did not repeat {upto} bytes"


def _voided(recording, answer):
    """Whoever gave the answer was lost before the replay began: what comes on that channel later counts instead."""
    for event in recording.events[answer["n"] + 1 :]:
        if event.get("at") != answer["of"] or event.get("attempt") != answer["attempt"]:
            continue
        if event["type"] == "recovery-state" and event["to"] == "Replaying":
            return False
        if event["type"] == "channel-lost" and event["channel"] == answer["channel"]:
            return True
    return False


def check_rebuilt(recording):
    """A buffer that was rebuilt and held back is the one that was sent before."""
    for task, attempt in recording.each_attempt():
        for k in range(len(recording.tasks[task]["outputs"])):
            earlier = {}
            for before in range(attempt):
                earlier |= {one.seq: one for one in recording.frames(task, before, f"sent-{k}", "buf")}
            for frame in recording.frames(task, attempt, f"sent-{k}", "buf"):
                same = earlier.get(frame.seq)
                if frame.flags & 2 and (same is None or (same.payload, same.epoch) != (frame.payload, frame.epoch)):
                    yield f"tasks/{task}/{attempt}/sent-{k}: buffer {frame.seq} was rebuilt otherwise than it was cut"


def check_snapshots(recording):
    """A snapshot's next numbers are those behind the barrier."""
    for task, attempt in recording.each_attempt():
        restored = recording.snapshot_for(task, attempt)
        for checkpoint, state in recording.states(task, attempt).items():
            where = f"tasks/{task}/{attempt}/state/{checkpoint}"
            for k, output in enumerate(recording.tasks[task]["outputs"]):
                cut = [one.seq for one in recording.frames(task, attempt, f"sent-{k}", "buf") if one.epoch < checkpoint]
                expected = cut[-1] + 1 if cut else restored["outputs"].get(output["channel"], 0)
                if state["outputs"].get(output["channel"], 0) != expected:
                    yield f"{where}: the next buffer on {output['channel']} is {expected}"
            for channel in recording.tasks[task]["inputs"]:
                taken = [one.seq for one in recording.taken(task, attempt, channel) if one.main_epoch < checkpoint]
                expected = taken[-1] + 1 if taken else restored["inputs"].get(channel, 0)
                if state["inputs"].get(channel, 0) != expected:
                    yield f"{where}: the next buffer from {channel} is {expected}"


CHECKS = (check_kinds, check_recoveries, check_rebuilt, check_snapshots)
