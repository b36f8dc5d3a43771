"""What tasks left with the world: a sink's determinants, or a stable storage's logs."""

from collections import defaultdict

from tests.oracle.delta_layouts import delta_messages
from tests.oracle.logs import check_bytes, distances_from, threads_by_wire


def check_world(recording):
    threads, layout = threads_by_wire(recording), recording.manifest["protocol"].get("delta_layout", "flat")
    keeps = recording.manifest["protocol"].get("sink", "plain") == "determinant" and recording.shares
    hops = {task: distances_from(recording, task) for task in recording.tasks}
    stable = defaultdict(dict)
    for task, attempt in recording.each_attempt():
        where = f"tasks/{task}/{attempt}/world"
        frames = recording.frames(task, attempt, "world", "dlt")
        if frames and not (recording.in_storage or (keeps and not recording.tasks[task]["outputs"])):
            yield f"{where}: nobody leaves anything there"
            continue
        odd = [one.seq for one in frames if (one.receiver_attempt, one.sending, one.flags) != (0, 0, 0)]
        if odd:
            yield f"{where}: frame {odd[0]} names a receiver, a sending or flags"
        if keeps and not recording.tasks[task]["outputs"]:
            yield from _check_writes(recording, where, task, attempt, frames)
        elif [one.seq for one in frames] != list(range(len(frames))):
            yield f"{where}: writes are numbered otherwise than 0, 1, 2, …"
        known = defaultdict(int)
        # A storage has what the attempt before wrote: its successor goes on behind that.
        before = stable[task] if recording.in_storage else {}
        for frame in sorted(frames, key=lambda one: one.seq):
            for epoch, entries in delta_messages(frame.delta, layout):
                for number, output, offset, data in entries:
                    log = threads.get((number, output))
                    if log is None:
                        yield f"{where}: frame {frame.seq} names task number {number}, output {output}"
                        continue
                    yield from _check_log(recording, where, hops, task, log)
                    yield from check_bytes(recording, where, (task, attempt), log, epoch, offset, data)
                    goes_on = offset == known[log, epoch] or (
                        not known[log, epoch] and offset <= before.get((log, epoch), 0)
                    )
                    if not data or not goes_on:
                        yield f"{where}: {log}, epoch {epoch}: {offset} follows {known[log, epoch]}"
                    known[log, epoch] = offset + len(data)
        stable[task] = {**stable[task], **known}


def _check_writes(recording, where, task, attempt, frames):
    """A frame per write: its number, its time, its epoch."""
    lines = recording.lines_by_epoch(task, attempt, "sink")
    if [(one.seq, one.t_us, one.epoch) for one in frames] != [
        (line["n"], line["t_us"], epoch) for epoch, line in lines
    ]:
        yield f"{where}: its frames are not the writes of sink/"


def _check_log(recording, where, hops, task, log):
    of = log[0]
    if recording.in_storage:
        if of != task:
            yield f"{where}: holds {log}, which is another task's"
        return
    distance = hops[of].get(task)
    if distance is None:
        yield f"{where}: holds {log}, which is not upstream"
    elif recording.depth != "full" and distance + 1 > recording.depth and of != task:
        yield f"{where}: holds {log}, which is beyond the sharing depth {recording.depth}"


def check_stable(recording):
    """Pessimistic logging: nothing is sent before the storage has all that its task had logged when it was cut."""
    if recording.protocol != "pessimistic":
        return
    threads, layout = threads_by_wire(recording), recording.manifest["protocol"].get("delta_layout", "flat")
    for task in recording.tasks:
        written = defaultdict(list)
        for attempt in recording.attempts.get(task, []):
            for frame in recording.frames(task, attempt, "world", "dlt"):
                for epoch, entries in delta_messages(frame.delta, layout):
                    for number, output, offset, data in entries:
                        written[threads[number, output][1], epoch].append((frame.t_us, offset + len(data)))
            for k in range(len(recording.tasks[task]["outputs"])):
                buffers = {one.seq: one for one in recording.frames(task, attempt, f"sent-{k}", "buf")}
                for sending in recording.frames(task, attempt, f"sent-{k}", "dlt"):
                    cut = buffers[sending.seq]
                    upto = [end for t_us, end in written["main", cut.main_epoch] if t_us <= sending.t_us]
                    if cut.main_offset > max(upto, default=0):
                        where = f"tasks/{task}/{attempt}/sent-{k}: buffer {sending.seq}"
                        yield f"{where} was sent while {cut.main_offset - max(upto, default=0)} bytes were not stored"


CHECKS = (check_world, check_stable)
