"""What a recording says went in and came out: source records by (task, offset), and what the outside counts."""

import json
from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True)
class Read:
    """A source record, with the earliest time at which it was read."""

    t_us: int
    key: object
    timestamp: int
    value: dict


@dataclass(frozen=True)
class Written:
    """What came out: its lineage is the set of source records that it names."""

    t_us: int
    key: object
    timestamp: int
    value: dict
    names: tuple
    task: str

    @property
    def identity(self):
        return json.dumps([self.key, self.timestamp, self.value, self.names], sort_keys=True)


def read_records(recording):
    """({(task, offset): Read}, complaints): an offset read again must give the same record."""
    found, complaints = {}, []
    for task, attempt in recording.each_attempt():
        for line in recording.lines(task, attempt, "source"):
            key, timestamp, value = line["record"]
            one = Read(line["t_us"], key, timestamp, value)
            before = found.setdefault((task, line["offset"]), one)
            if (before.key, before.timestamp, before.value) != (key, timestamp, value):
                complaints.append(f"offset {line['offset']} of {task} gave two different records")
    return found, complaints


def written_records(recording):
    """(what the outside counts, what it was given again): of transactions those committed, of one id one write.

    A plain sink that went back to a checkpoint gives again what it had given since; only its last giving counts. A
    sink whose world keeps determinants goes on behind what it gave, but where a rollback ended all that it followed.
    """
    kind = recording.manifest["protocol"].get("sink", "plain")
    committed = {(event["task"], event["txn"]) for event in recording.events if event["type"] == "epoch-committed"}
    counted, again, ids = [], [], set()
    for task, attempt in recording.each_attempt():
        undone = _undone_from(recording, task, attempt, kind)
        for epoch, line in _sink_lines(recording, task, attempt):
            key, timestamp, value = line["record"]
            names = tuple(sorted((source, offset) for source, offset in line["source"]))
            one = Written(line["t_us"], key, timestamp, value, names, task)
            if kind == "transactional":
                (counted if (task, line.get("txn")) in committed else again).append(one)
            elif "id" in line:
                (again if line["id"] in ids else counted).append(one)
                ids.add(line["id"])
            else:
                (again if undone is not None and epoch >= undone else counted).append(one)
    return counted, again


def _undone_from(recording, task, attempt, kind):
    """From which epoch on a later attempt gives again what this one gave; None: nothing."""
    if recording.protocol == "none":
        return None
    later = [recording.start_of(task, one) for one in recording.attempts[task] if one > attempt]
    back = [one for one in later if one is not None and (kind == "plain" or "rollback" in one)]
    return min((one["checkpoint"] for one in back), default=None)


def _sink_lines(recording, task, attempt):
    files = recording.members.get((task, attempt, "sink", "ndjson"), {})
    for epoch in sorted(files):
        for line in files[epoch].read_text("utf-8").splitlines():
            yield epoch, json.loads(line)


def rolled_back(recording):
    """Whether everything went back at once: what comes out after that need not be what came out before."""
    return any(event["type"] == "global-rollback" for event in recording.events)


def chosen_anew(recording):
    """Whether a task above the sinks may have chosen anew what a sink that failed had given already.

    Only where both failed between the same two completed checkpoints: else one of them still held the choices.
    """
    completed, spans = 0, []
    for event in recording.events:
        if event["type"] == "checkpoint-completed":
            completed += 1
        elif event["type"] == "task-failed":
            spans.append((completed, bool(recording.tasks[event["task"]]["outputs"])))
    return any((one, True) in spans and (one, False) in spans for one, _ in spans)


def compare(written, expected):
    """Complaints where what came out isn't what had to; both are identities."""
    got, wanted = Counter(written), Counter(expected)
    for one, times in (wanted - got).items():
        yield f"missing {times} of {one[:200]}"
    for one, times in (got - wanted).items():
        yield f"{times} too many of {one[:200]}"


def identity(key, timestamp, value, names):
    return json.dumps([key, timestamp, value, sorted(names)], sort_keys=True)


def untimed(text):
    """An identity but for its timestamp."""
    key, _, value, names = json.loads(text)
    return json.dumps([key, None, value, names], sort_keys=True)
