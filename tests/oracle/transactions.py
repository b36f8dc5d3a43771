"""What sinks seal, commit and abort: each transaction ends once, and holds what its events say."""

from collections import Counter, defaultdict

ENDS = ("epoch-committed", "epoch-aborted")


def check_transactions(recording):
    kind = recording.manifest["protocol"].get("sink", "plain")
    events = [event for event in recording.events if event["type"].startswith("epoch-") and event["type"] != "epoch"]
    if events and kind not in ("transactional", "idempotent"):
        yield f"a {kind} sink has no transactions, as event {events[0]['n']}"
    yield from _check_ends(recording, events, kind)
    if kind == "transactional":
        yield from _check_lines(recording, events)
    if kind == "idempotent":
        yield from _check_identities(recording, events)
    yield from _check_listed(recording, kind)


def _check_ends(recording, events, kind):
    """Sealed at the barrier, committed once its checkpoint is complete, and never both committed and aborted."""
    sealed, ended, of = {}, {}, {}
    completed = {one["checkpoint"]: one["n"] for one in recording.events if one["type"] == "checkpoint-completed"}
    for event in events:
        where, txn = f"event {event['n']} ({event['type']})", (event["task"], event["txn"])
        if of.setdefault(event["txn"], (event["task"], event["epoch"])) != (event["task"], event["epoch"]):
            yield f"{where}: transaction {event['txn']} was another one before"
        if event["type"] == "epoch-precommitted":
            if txn in sealed:
                yield f"{where}: transaction {event['txn']} was sealed before"
            sealed[txn] = event["records"]
            continue
        # An interrupted flush begins again: only what is transactional ends once.
        if txn in ended and (kind == "transactional" or event["type"] != ended[txn]):
            yield f"{where}: transaction {event['txn']} had its end before"
        ended[txn] = event["type"]
        if event["type"] == "epoch-committed":
            if sealed.get(txn) != event["records"]:
                yield f"{where}: commits {event['records']} records, and {sealed.get(txn)} were sealed"
            if not any(checkpoint > event["epoch"] and n < event["n"] for checkpoint, n in completed.items()):
                yield f"{where}: no checkpoint behind epoch {event['epoch']} was complete"


def _check_lines(recording, events):
    lines, owners = Counter(), defaultdict(set)
    for task, attempt in recording.each_attempt():
        for epoch, line in recording.lines_by_epoch(task, attempt, "sink"):
            lines[task, line["txn"]] += 1
            owners[line["txn"]].add((task, attempt, epoch))
    for txn, found in owners.items():
        if len(found) > 1:
            yield f"transaction {txn} was written by {sorted(found)}"
    for event in events:
        key = event["task"], event["txn"]
        if event["records"] != lines[key]:
            yield f"event {event['n']} ({event['type']}): {event['records']} records, and {lines[key]} were written"
        if owners[event["txn"]] and {one[2] for one in owners[event["txn"]]} != {event["epoch"]}:
            yield f"event {event['n']} ({event['type']}): transaction {event['txn']} is of another epoch"


def _check_identities(recording, events):
    """One identity is one write; a log that is flushed to its end has given all of its writes."""
    written, given = {}, defaultdict(set)
    sealed = {(one["task"], one["epoch"]) for one in events if one["type"] == "epoch-precommitted"}
    for task, attempt in recording.each_attempt():
        for epoch, line in recording.lines_by_epoch(task, attempt, "sink"):
            if written.setdefault(line["id"], (line["record"], line["source"])) != (line["record"], line["source"]):
                yield f"two writes have the id {line['id']}"
            given[task, epoch].add(line["id"])
        for epoch in {epoch for epoch, _ in recording.lines_by_epoch(task, attempt, "sink")}:
            if (task, epoch) not in sealed:
                yield f"tasks/{task}/{attempt}/sink/{epoch}: no log of that epoch was sealed"
    for event in events:
        if event["type"] == "epoch-committed" and len(given[event["task"], event["epoch"]]) != event["records"]:
            count = len(given[event["task"], event["epoch"]])
            yield f"event {event['n']} ({event['type']}): {event['records']} records, and {count} were written"


def _check_listed(recording, kind):
    """A snapshot lists what is sealed; a write-ahead log with all its writes."""
    for task, attempt in recording.each_attempt():
        for checkpoint, state in recording.states(task, attempt).items():
            where = f"tasks/{task}/{attempt}/state/{checkpoint}"
            for one in state.get("transactions", ()):
                fields = {"txn", "epoch", "records"} | ({"writes"} if kind == "idempotent" else set())
                if set(one) != fields or one["epoch"] >= checkpoint:
                    yield f"{where}: lists the transaction {str(one)[:100]}"
                elif len(one.get("writes", ())) != (one["records"] if kind == "idempotent" else 0):
                    yield f"{where}: lists {len(one['writes'])} writes of {one['records']}"


CHECKS = (check_transactions,)
