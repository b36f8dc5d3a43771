"""Manifest, names and events."""

from collections import defaultdict

FIELDS = {
    "attempt-started": ("task", "attempt", "host", "standby", "checkpoint"),
    "task-failed": ("failure", "task", "attempt", "host", "cause"),
    "failure-detected": ("failure", "by"),
    "standby-activated": ("failure", "task", "host"),
    "task-rescheduled": ("failure", "task", "host"),
    "restore-started": ("task", "checkpoint"),
    "state-restored": ("task", "checkpoint", "bytes"),
    "channel-lost": ("channel", "side"),
    "channel-reconnected": ("channel", "side"),
    "recovery-state": ("task", "from", "to"),
    "determinants-requested": ("of", "channel", "epoch"),
    "determinants-request-received": ("of", "channel", "epoch"),
    "determinants-returned": ("of", "channel", "to", "result", "logs"),
    "determinants-received": ("of", "channel", "to", "result", "logs"),
    "escalated": ("task", "why"),
    "replay-requested": ("channel", "epoch", "skip"),
    "replay-request-received": ("channel", "epoch", "skip"),
    "checkpoint-triggered": ("checkpoint",),
    "checkpoint-completed": ("checkpoint",),
    "checkpoint-aborted": ("checkpoint",),
    "checkpoint-acknowledged": ("task", "checkpoint", "bytes"),
    "checkpoint-notified": ("task", "checkpoint"),
    "checkpoint-ignored": ("task", "checkpoint"),
    "global-rollback": ("failure", "checkpoint", "why"),
    "epoch-precommitted": ("task", "epoch", "txn", "records"),
    "epoch-committed": ("task", "epoch", "txn", "records"),
    "epoch-aborted": ("task", "epoch", "txn", "records"),
    "metric": ("task", "records_in", "records_out"),
    "gap": ("task", "attempt", "thread", "epoch", "offset", "why"),
}
STATES = ("Standby", "WaitingConnections", "WaitingDeterminants", "Replaying", "Running")
WORDS = {
    "side": ("input", "output"),
    "result": ("held", "failed-too", "beyond-depth"),
    "by": ("connection", "heartbeat"),
}


def check_names(recording):
    for name in recording.unknown:
        yield f"member {name} is unknown to the format"
    for task, attempt, folder, suffix in recording.members:
        where = f"tasks/{task}/{attempt}/{folder}"
        if task not in recording.tasks:
            yield f"{where}: the manifest lists no such task"
            continue
        kind, _, index = folder.partition("-")
        allowed = {"main": "det", "out": "det", "sent": "buf dlt", "received": "rcv", "state": "json", "world": "dlt"}
        if suffix not in allowed.get(kind, "ndjson").split():
            yield f"{where}: a .{suffix} does not belong there"
        sides = {"out": "outputs", "sent": "outputs", "received": "inputs"}
        if kind in sides and int(index) >= len(recording.tasks[task][sides[kind]]):
            yield f"{where}: the manifest lists no such channel"


def check_attempts(recording):
    started = defaultdict(list)
    for event in recording.events:
        if event["type"] == "attempt-started":
            started[event["task"]].append(event["attempt"])
    for task in recording.tasks:
        if started[task] != list(range(len(started[task]))):
            yield f"attempts of {task} started as {started[task]}"
        if not set(recording.attempts.get(task, [])) <= set(started[task]):
            yield f"{task} has members of attempts {recording.attempts[task]}, and started {started[task]}"


def check_events(recording):
    """Numbers, times, fields, and causes that come before what they caused."""
    before_us = 0
    for n, event in enumerate(recording.events):
        where = f"event {n} ({event.get('type')})"
        if event["n"] != n:
            yield f"{where}: its n is {event['n']}"
        if recording.manifest["clock"].get("kind", "virtual") == "virtual" and event["t_us"] < before_us:
            yield f"{where}: at {event['t_us']}, after one at {before_us}"
        before_us = event["t_us"]
        if event["type"] not in FIELDS:
            yield f"{where}: unknown type"
            continue
        missing = [field for field in FIELDS[event["type"]] if field not in event]
        if missing:
            yield f"{where}: lacks {missing}"
        if "re" in event and not 0 <= event["re"] < n:
            yield f"{where}: is caused by {event['re']}"
        for field, words in WORDS.items():
            if field in event and event[field] not in words:
                yield f"{where}: {field} is {event[field]}"
        for field in ("task", "at", "of", "to"):
            if field in event and event["type"] != "recovery-state" and event[field] not in {*recording.tasks, "world"}:
                yield f"{where}: {field} names no task, {event[field]}"
        if "channel" in event and event["channel"] not in {*recording.channels, *recording.worlds}:
            yield f"{where}: names no channel, {event['channel']}"


def check_failures(recording):
    failed = [event for event in recording.events if event["type"] == "task-failed"]
    if [event["failure"] for event in failed] != list(range(len(failed))):
        yield f"failures count as {[event['failure'] for event in failed]}"
    for event in recording.events:
        known = {one["failure"] for one in failed if one["n"] <= event["n"]}
        if "failure" in event and event["failure"] not in known:
            yield f"event {event['n']} ({event['type']}): there is no failure {event['failure']} yet"
        if event["type"] == "attempt-started" and event["attempt"] > 0 and "failure" not in event:
            rollback = event.get("rollback", -1)
            if not 0 <= rollback < event["n"] or recording.events[rollback]["type"] != "global-rollback":
                yield f"event {event['n']}: attempt {event['attempt']} of {event['task']} began for no reason"


def check_states(recording):
    """Each attempt walks through the recovery's states without a jump."""
    states = {}
    for event in recording.events:
        if event["type"] != "recovery-state":
            continue
        key = event["task"], event.get("attempt")
        expected = states.get(key, "Standby")
        if event["from"] != expected or event["to"] not in STATES:
            yield f"event {event['n']}: {key} goes from {event['from']} to {event['to']}, and was {expected}"
        if event["to"] in STATES and STATES.index(event["to"]) <= STATES.index(expected):
            yield f"event {event['n']}: {key} goes back to {event['to']}"
        states[key] = event["to"]


def check_checkpoints(recording):
    acknowledged, triggered = defaultdict(set), set()
    for event in recording.events:
        if event["type"] == "checkpoint-triggered":
            triggered.add(event["checkpoint"])
        elif event["type"] == "checkpoint-acknowledged":
            if event["checkpoint"] not in triggered:
                yield f"event {event['n']}: checkpoint {event['checkpoint']} was never triggered"
            acknowledged[event["checkpoint"]].add(event["task"])
        elif event["type"] == "checkpoint-completed":
            missing = set(recording.tasks) - acknowledged[event["checkpoint"]]
            if missing:
                yield f"event {event['n']}: checkpoint {event['checkpoint']} completed without {sorted(missing)}"


CHECKS = (check_names, check_attempts, check_events, check_failures, check_states, check_checkpoints)
