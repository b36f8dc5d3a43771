"""Why an event that was taken out may as well never have been: it was still under way when its attempt ended."""

from __future__ import annotations

import json

from replay.runtime.failing.doubts import CAUSE as DOUBTED
from tests.replay.debugger.diverging.known import (
    ARRIVALS,
    Event,
    barriers_taken,
    events_at,
    lets_go_by_its_log,
    times_of,
    times_sent_over,
    touches_the_channel,
)
from tests.replay.debugger.worlds import MemoryMembers


def why_untold(members: MemoryMembers, events: list[Event], n: int) -> str | None:
    """It may have been under way still when its attempt ended: nothing follows from it, and nothing came after it."""
    one = events[n]
    if any(other.get(name) == n for other in events for name in ("re", "rollback")) and not _told_by_next(events, n):
        return None
    task, attempt = one.get("at"), one.get("attempt")
    if task is None and one["type"] in ("restore-started", "state-restored"):
        if one["type"] == "state-restored" and _had_loaded(events, one):
            return None
        return f"the standby on {one.get('host')} was not needed, and may have been gone before it was told"
    if not isinstance(task, str) or not isinstance(attempt, int) or not _arrives(one) or _strikes(members, one):
        return None
    fenced = _fenced_before(events, one)
    if fenced is not None and not _told_by_channel(members, events, one) and not _noticed_for_sure(events, one):
        return (
            f"attempt {attempt} of {task} failed by event {fenced['n']}: fenced, it may have ended before it was told"
        )
    gone = _connection_ended(members, events, one) or _never_connected(members, events, one)
    if (gone := gone or _answered_in_vain(events, one)) is not None:
        return f"it may have been under way when the channel was lost by event {gone['n']}"
    if one["type"] == "checkpoint-ignored":
        if lets_go_by_its_log(members, one):
            return None
        if (past := _too_late(members, events, one)) is not None:
            return f"it may have been under way until event {past['n']}, by when there was nothing left to let go"
    ended = next((other for other in events if _ends(other, task, attempt) and other["n"] > n), None)
    if ended is None or not _may_come_after(members, events, one, ended):
        return None
    return f"attempt {attempt} of {task} ended by event {ended['n']}: until then it may have been under way"


def _told_by_next(events: list[Event], n: int) -> bool:
    """That a task is gone two may have noticed, one after the other: the coordinator heard it of the first of them."""
    if n + 1 == len(events) or {events[n]["type"], events[n + 1]["type"]} != {"channel-lost"}:
        return False
    follow = [one for one in events if one.get("re") == n]
    alike = events[n]["failure"] == events[n + 1]["failure"] and all(
        one["type"] == "failure-detected" for one in follow
    )
    return alike and all(one["t_us"] > events[n + 1]["t_us"] for one in follow)


def _may_come_after(members: MemoryMembers, events: list[Event], one: Event, ended: Event) -> bool:
    """Whether all that the attempt did from then to its end, it may have done without it."""
    task, attempt, n = one["at"], one["attempt"], one["n"]
    later = [other for other in events_at(events, task, attempt) if n < other["n"] < ended["n"]]
    over = [other for other in later if other.get("channel") == one.get("channel", "none")]
    if one["type"] == "checkpoint-notified":  # which has no consequence but those that name it
        return True
    if one["type"] == "channel-lost":
        known = over or _both_noticed(events, one, ended) or (later and _waits(events, one))
        return not known and not touches_the_channel(members, one)
    if one["type"] == "channel-reconnected" and one["side"] == "output":  # of which its other end is told after it
        over += [other for other in events if other["n"] > n and _connects(other, one)]
    if one["type"] == "replay-request-received":
        return not over and not any(t_us >= one["t_us"] for t_us in times_sent_over(members, one))
    if one["type"] == "determinants-received" and one["of"] == task:  # which serves its own recovery, and nobody else's
        return not over and not any(other["type"] in ("recovery-state", "escalated") for other in later)
    if one["type"] == "state-restored" and any(other["n"] > n for other in _of_its_rollback(events, one, ended)):
        return False  # nobody does anything before all have their state
    if one["type"] in ("state-restored", "recovery-state"):
        began = next(other for other in events if _begins(other, task, attempt))
        if one["type"] == "state-restored" and (began["standby"], began["checkpoint"]) == (True, 0):
            return False  # a standby has its state at once where there is nothing to load
        if "failure" in began and all(_arrives(other) for other in later if other["type"] == "recovery-state"):
            return True  # it never had all it waits for: until then it does the same, with and without
    if any(not _arrives(other) for other in later) or over:
        return False
    return not any(t_us >= one["t_us"] for t_us in times_of(members, task, attempt))


def _connects(other: Event, one: Event) -> bool:
    return all(other.get(name) == one[name] for name in ("type", "channel", "re"))


def _both_noticed(events: list[Event], one: Event, ended: Event) -> bool:
    """Whether its other end lost the channel in that moment, or went on with somebody else."""
    since = [other for other in events[: ended["n"]] if other["n"] != one["n"] and other["t_us"] >= one["t_us"]]
    return any(
        other["type"] == "channel-reconnected" or (other["type"] == "channel-lost" and other["t_us"] == one["t_us"])
        for other in since
        if other.get("channel") == one["channel"]
    )


def _waits(events: list[Event], one: Event) -> bool:
    """Whether its attempt was recovering then, and went on only with all its channels."""
    own = events_at(events, one["at"], one["attempt"])
    states = [other["to"] for other in own if other["n"] < one["n"] and other["type"] == "recovery-state"]
    began = next(other for other in events if _begins(other, one["at"], one["attempt"]))
    return (states or ["Standby" if "failure" in began else "Running"])[-1] not in ("Replaying", "Running")


def _of_its_rollback(events: list[Event], one: Event, ended: Event) -> list[Event]:
    """What those did, or what happened to them, who began together with its attempt, but that they loaded."""
    start = next(other for other in events if _begins(other, one["at"], one["attempt"]))
    if "rollback" not in start:
        return []
    together = {
        (other["task"], other["attempt"])
        for other in events
        if other["type"] == "attempt-started" and other.get("rollback") == start["rollback"]
    }
    return [
        other
        for other in events[: ended["n"] + 1]
        if (other.get("at", other.get("task")), other.get("attempt")) in together
        and other["type"] not in ("attempt-started", "restore-started", "state-restored")
    ]


def _begins(event: Event, task: str, attempt: int) -> bool:
    return (event["type"], event.get("task"), event.get("attempt")) == ("attempt-started", task, attempt)


def _too_late(members: MemoryMembers, events: list[Event], one: Event) -> Event | None:
    """What ended the attempt, or, where it is told again as it recovered, brought it past that checkpoint: until then
    it may have been under way, where nothing that the attempt took has to do with that checkpoint."""
    task, attempt, checkpoint = one["at"], one["attempt"], one["checkpoint"]
    if checkpoint in barriers_taken(members, task, attempt):
        return None
    recovered = any(other["type"] == "recovery-state" for other in events_at(events, task, attempt))
    for other in events[one["n"] + 1 :]:
        if _ends(other, task, attempt):
            return other
        passes = (other["type"], other.get("at"), other.get("attempt")) == ("checkpoint-acknowledged", task, attempt)
        if recovered and passes and other["checkpoint"] > checkpoint:
            return other
    return None


def _fenced_before(events: list[Event], one: Event) -> Event | None:
    """By what its attempt was taken for failed, though it lived on for a while that nothing bounds."""
    return next((other for other in events[: one["n"]] if _ends(other, one["at"], one["attempt"])), None)


def _told_by_channel(members: MemoryMembers, events: list[Event], one: Event) -> bool:
    """Whether anything that the attempt did or heard over that channel comes after: else it did without it."""
    if one["type"] != "channel-lost":
        return True
    own = (other for other in events_at(events, one["at"], one["attempt"]) if other["n"] > one["n"])
    return any(other.get("channel") == one["channel"] for other in own) or touches_the_channel(members, one)


def _connection_ended(members: MemoryMembers, events: list[Event], one: Event) -> Event | None:
    """By what a request was lost on its way: until then nothing went out for which it asked, nor came another event."""
    if one["type"] != "replay-request-received":
        return None
    for other in events[one["n"] + 1 :]:
        if (other.get("at"), other.get("attempt"), other.get("channel")) != (one["at"], one["attempt"], one["channel"]):
            continue
        sent = times_sent_over(members, one)
        lost = other["type"] == "channel-lost" and not any(one["t_us"] <= t_us <= other["t_us"] for t_us in sent)
        return other if lost else None
    return None


def _answered_in_vain(events: list[Event], one: Event) -> Event | None:
    """By what an answer to its own recovery was lost on its way: what it brought is void then, and until then nothing
    else came over that channel, nor had its task all the answers."""
    own = [*events_at(events[one["n"] + 1 :], one["at"], one["attempt"])]
    if (one["type"], one.get("of")) != ("determinants-received", one["at"]):
        return None
    if any(other.get("cause") == DOUBTED for other in own):  # which rests on what it was told
        return None
    for other in own:
        if other.get("channel") == one["channel"]:
            return other if other["type"] == "channel-lost" else None
        if other["type"] in ("recovery-state", "escalated"):
            return None
    return None


def _never_connected(members: MemoryMembers, events: list[Event], one: Event) -> Event | None:
    """By what an input was lost before it was known to be there: nothing came over it, and nobody had waited for it."""
    if one["type"] != "channel-reconnected" or one["side"] != "input":
        return None
    for other in events[one["n"] + 1 :]:
        if (other.get("at"), other.get("attempt")) != (one["at"], one["attempt"]):
            continue
        if other.get("channel") == one["channel"]:
            since = other["type"] == "channel-lost" and not touches_the_channel(members, one, other["t_us"])
            return other if since else None
        if not _arrives(other):
            return None
    return None


def _noticed_for_sure(events: list[Event], one: Event) -> bool:
    """Whether it was there to notice what the other end noticed: it noticed something else later."""
    both = any(
        (other["type"], other.get("channel"), other["t_us"]) == (one["type"], one["channel"], one["t_us"])
        for other in events
        if other["n"] != one["n"]
    )
    own = events_at(events, one["at"], one["attempt"])
    return both and any(other["type"] == "channel-lost" and other["n"] > one["n"] for other in own)


def _had_loaded(events: list[Event], loaded: Event) -> bool:
    """Whether a standby of that task, there, takes over without having to load anything."""
    for one in events[loaded["n"] :]:
        if one["type"] == "attempt-started" and one["standby"] is True:
            begins = [other for other in events_at(events, one["task"], one["attempt"]) if "restore" in other["type"]]
            begins += [
                other for other in events_at(events, one["task"], one["attempt"]) if other["type"] == "state-restored"
            ]
            at_once = len(begins) > 1 and begins[0]["t_us"] == begins[-1]["t_us"] and one["checkpoint"] > 0
            if at_once and (one["task"], one["host"]) == (loaded["task"], loaded["host"]):
                return bool(one["checkpoint"] <= loaded["checkpoint"])
    return False


def _arrives(event: Event) -> bool:
    """Also the coordinator's call by which an attempt takes over."""
    return event["type"] in ARRIVALS or (event["type"], event.get("from")) == ("recovery-state", "Standby")


def _strikes(members: MemoryMembers, one: Event) -> bool:
    """Whether by the command its task is killed as it enters that state, so that it must have."""
    command = json.loads(members.members["job.json"])["job"]["command"]
    return one["type"] == "recovery-state" and f"--kill-in {one['task']}:{one['to']}" in command


def _ends(event: Event, task: str, attempt: int) -> bool:
    if event["type"] == "global-rollback":
        return True
    return event["type"] == "task-failed" and (event.get("task"), event.get("attempt")) == (task, attempt)
