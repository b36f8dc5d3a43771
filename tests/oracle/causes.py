"""Events that answer one another: who asked for what, who took over for whom, what was snapshotted and restored."""

SAME = {
    "determinants-request-received": ("determinants-requested", ("of", "channel", "epoch")),
    "determinants-returned": ("determinants-request-received", ("of", "channel")),
    "determinants-received": ("determinants-returned", ("of", "channel", "to", "result", "logs")),
    "replay-request-received": ("replay-requested", ("channel", "epoch", "skip")),
    "state-restored": ("restore-started", ("task", "checkpoint", "attempt", "host")),
}
"""Type of an event: the type of its cause where it has that one, and in what the two agree."""
ALWAYS = ("determinants-request-received", "determinants-received", "replay-request-received", "state-restored")

RESTORING = ("attempt-started", "global-rollback", "restore-started", "checkpoint-notified")


def check_causes(recording):
    for event in recording.events:
        if event["type"] not in SAME or "re" not in event:
            if event["type"] in ALWAYS:
                yield f"event {event['n']} ({event['type']}): names no cause"
            continue
        of, fields = SAME[event["type"]]
        cause = recording.events[event["re"]] if 0 <= event["re"] < event["n"] else {"type": "none"}
        where = f"event {event['n']} ({event['type']})"
        if cause["type"] != of and event["type"] in ALWAYS:
            yield f"{where}: is caused by a {cause['type']}"
        differing = [field for field in fields if event.get(field) != cause.get(field)]
        if cause["type"] == of and differing:
            yield f"{where}: has another {differing[0]} than its cause"


def check_takeovers(recording):
    """A failure is detected once; whoever takes over is the one that was activated, on that host."""
    detected, chosen = set(), {}
    for event in recording.events:
        where = f"event {event['n']} ({event['type']})"
        if event["type"] == "task-failed" and event["cause"].startswith("orphan"):
            detected.add(event["failure"])  # given up by whoever detected another one's failure
        elif event["type"] == "failure-detected":
            if event["failure"] in detected:
                yield f"{where}: failure {event['failure']} was detected before"
            detected.add(event["failure"])
        elif event["type"] in ("standby-activated", "task-rescheduled"):
            chosen[event["failure"], event["task"]] = event
            if event["failure"] not in detected:
                yield f"{where}: failure {event['failure']} was not detected yet"
        elif event["type"] == "attempt-started" and "failure" in event:
            by = chosen.get((event["failure"], event["task"]))
            standby = by is not None and by["type"] == "standby-activated"
            if by is None or by["host"] != event["host"] or standby != event["standby"]:
                yield f"{where}: is not what was chosen to take over failure {event['failure']}"


def check_restores(recording):
    """What is restored was completed; what is acknowledged stands in a member; a checkpoint has one end."""
    completed, aborted, triggered = {0}, set(), set()
    for event in recording.events:
        where, checkpoint = f"event {event['n']} ({event['type']})", event.get("checkpoint")
        if event["type"] == "checkpoint-triggered":
            if checkpoint in triggered:
                yield f"{where}: checkpoint {checkpoint} was triggered before"
            triggered.add(checkpoint)
        elif event["type"] in ("checkpoint-completed", "checkpoint-aborted"):
            if checkpoint in completed | aborted or checkpoint not in triggered:
                yield f"{where}: checkpoint {checkpoint} had its end before, or never began"
            (completed if event["type"] == "checkpoint-completed" else aborted).add(checkpoint)
            if event["type"] == "checkpoint-aborted" and not event.get("why"):
                yield f"{where}: says not why"
        elif event["type"] == "checkpoint-acknowledged":
            if checkpoint not in recording.states(event["task"], event["attempt"]):
                yield f"{where}: {event['task']} left no snapshot {checkpoint}"
        elif event["type"] in RESTORING and checkpoint not in completed:
            yield f"{where}: checkpoint {checkpoint} was never complete"


def check_answers(recording):
    """Nobody returns more of a log than some attempt had."""
    for event in recording.events:
        if event["type"] != "determinants-returned":
            continue
        for task, thread, epoch, upto in event["logs"]:
            longest = [len(recording.logs(task, one, thread).get(epoch, b"")) for one in recording.attempts[task]]
            if task != event["of"] or upto > max(longest, default=0):
                what = f"{upto} bytes of {task}/{thread}, epoch {epoch}"
                yield f"event {event['n']} ({event['type']}): {what} never were"


CHECKS = (check_causes, check_takeovers, check_restores, check_answers)
