"""Members that are JSON: source and sink lines, snapshots, and how JSON is written."""

import json

STATE = (
    "operator",
    "timers",
    "watermarks",
    "idle",
    "inputs",
    "outputs",
    "source",
    "services",
    "transactions",
)
TIMER = ("at_ms", "callback", "name", "key", "namespace", "period_ms", "order")
REFERENCE = {"topic", "partition", "offset", "sha256"}


def check_writing(recording):
    """Separators without blanks, nothing escaped that need not be, no NaN: else equal bundles were not equal."""
    for name, text in recording.json_lines():
        try:
            again = json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        except ValueError as wrong:
            yield f"{name}: {wrong}"
            continue
        if again != text:
            yield f"{name}: is written {text[:80]}"


def _is_record(record):
    return isinstance(record, list) and len(record) == 3 and type(record[1]) is int


def check_sources(recording):
    """Offsets of an attempt follow one another, and none is left out between attempts."""
    for task in recording.tasks:
        reached = 0
        for attempt in recording.attempts.get(task, []):
            where = f"tasks/{task}/{attempt}/source"
            lines = recording.lines(task, attempt, "source")
            if lines and recording.tasks[task]["inputs"]:
                yield f"{where}: {task} has inputs, and is no source"
            if not lines:
                continue
            offsets = [line["offset"] for line in lines]
            if offsets != list(range(offsets[0], offsets[0] + len(offsets))):
                yield f"{where}: offsets do not follow one another"
            if offsets[0] > reached:
                yield f"{where}: begins with offset {offsets[0]}, and {reached} was never read"
            reached = max(reached, offsets[-1] + 1)
            times = [line["t_us"] for line in lines]
            if times != sorted(times):
                yield f"{where}: records are not in the order read"
            for line in lines:
                if not _is_record(line.get("record")) and set(line.get("ref", ())) != REFERENCE:
                    yield f"{where}: offset {line['offset']} holds neither a record nor a reference"


def check_emitted(recording):
    """What a source sends in an epoch comes from what it read in it; and an offset always gives the same record."""
    read = {}
    for task, attempt in recording.each_attempt():
        if recording.tasks[task]["inputs"]:
            continue
        offsets = {}
        for epoch, line in recording.lines_by_epoch(task, attempt, "source"):
            offsets.setdefault(epoch, set()).add(line["offset"])
            if read.setdefault((task, line["offset"]), line.get("record")) != line.get("record"):
                yield f"tasks/{task}/{attempt}/source: offset {line['offset']} gave another record before"
        for k in range(len(recording.tasks[task]["outputs"])):
            for epoch, record in recording.records(task, attempt, k):
                sent = {offset for source, offset in record[3] if source == task} if len(record) > 3 else set()
                if not sent <= offsets.get(epoch, set()):
                    yield f"tasks/{task}/{attempt}/sent-{k}: {sorted(sent)} are sent in epoch {epoch}, not read in it"
                    break


def check_sinks(recording):
    """Numbered writes, each with a lineage of what was really read, and the marks of the sink's kind."""
    kind = recording.manifest["protocol"].get("sink", "plain")
    read = {
        (task, line["offset"])
        for task, attempt in recording.each_attempt()
        for line in recording.lines(task, attempt, "source")
    }
    for task, attempt in recording.each_attempt():
        where = f"tasks/{task}/{attempt}/sink"
        lines = recording.lines(task, attempt, "sink")
        numbers = [line["n"] for line in lines]
        if numbers != list(range(len(numbers))):
            yield f"{where}: its lines are numbered otherwise than 0, 1, 2, …"
        marks = {"transactional": {"txn"}, "idempotent": {"id"}}.get(kind, set())
        for line in lines:
            if not _is_record(line.get("record")):
                yield f"{where}: line {line['n']} is no record: {line.get('record')}"
            if set(line) - {"n", "t_us", "record", "source"} != marks:
                yield f"{where}: line {line['n']} of a {kind} sink has {sorted(line)}"
            unread = [one for one in line["source"] if tuple(one) not in read]
            if unread:
                yield f"{where}: line {line['n']} names {unread[:3]}, which nobody had read"


def check_states(recording):
    for task, attempt in recording.each_attempt():
        for checkpoint, state in recording.states(task, attempt).items():
            where = f"tasks/{task}/{attempt}/state/{checkpoint}"
            if set(state) != set(STATE):
                yield f"{where}: has {sorted(state)}"
                continue
            inputs = set(recording.tasks[task]["inputs"])
            outputs = {one["channel"] for one in recording.tasks[task]["outputs"]}
            if set(state["inputs"]) != inputs or set(state["outputs"]) != outputs:
                yield f"{where}: names other channels than {task} has"
            if not set(state["watermarks"]) <= inputs or not set(state["idle"]) <= inputs:
                yield f"{where}: has watermarks of other channels than {task} has"
            for timer in state["timers"]:
                if set(timer) != set(TIMER) or type(timer["at_ms"]) is not int:
                    yield f"{where}: holds the timer {timer}"
            orders = [timer["order"] for timer in state["timers"] if "order" in timer]
            if len(set(orders)) != len(orders):
                yield f"{where}: two timers stand at one place"


CHECKS = (check_writing, check_sources, check_emitted, check_sinks, check_states)
