"""One log's state while it is walked, compiled: what each step changes, and whether sizes must be worked out anew."""

from __future__ import annotations

from typing import Any

from ingest.lake.recoverability.compiled import compiled
from ingest.lake.recoverability.heap import FOREVER

AS_RECORDED, NOTHING, AS_DEPENDED = 0, 1, 2
"""What of a task's logs a holder has, by variation; as `replay.guarantees.recoverability.reach` says."""

NONE = -1
SIZES = 4
"""Tasks, tasks where the outside is a dependent, hosts, and these where it is."""

COUNT, CLIPS, SURPLUS, WRITTEN, LOST_WRITTEN, LOST_FOUND = range(6)
"""Numbers that steps change, by their place in `numbers`."""


@compiled
def touch(who: int, state: Any, numbers: Any) -> None:
    """From now on it is looked at, in this place."""
    touched, is_touched = state[3], state[4]
    if not is_touched[who]:
        is_touched[who] = True
        touched[numbers[COUNT]] = who
        numbers[COUNT] += 1


@compiled
def is_any(ends: Any) -> bool:
    """Whether there is a size."""
    found = False
    for q in range(SIZES):
        found |= ends[q] > 0
    return found


@compiled
def least(ends: Any) -> int:
    """The first of the bytes that sizes are of."""
    found = ends[0]
    for q in range(1, SIZES):
        found = min(found, ends[q])
    return found


@compiled
def crosses(was: int, now: int, ends: Any) -> bool:
    """Whether more of the bytes that sizes are of are held than before."""
    found = False
    for q in range(SIZES):
        found |= was < ends[q] <= now
    return found


@compiled
def hold(who: int, end: int, whose: int, how: Any, outside: bool, state: Any, numbers: Any) -> None:
    """A copy grew; what an older attempt wrote past what a newer one was given is no part of the log any more."""
    held, ends, dirty, clips = state[0], state[6], state[10], state[11]
    for n in range(numbers[CLIPS]):
        if whose < clips[0, n]:
            end = min(end, clips[1, n])
    for v in range(len(held)):
        if how[v] != NOTHING and end > held[v, who]:
            if crosses(held[v, who], end, ends[v]) or (outside and is_any(ends[v])):
                dirty[v] = True
            held[v, who] = end


@compiled
def depend(who: int, end: int, how: Any, state: Any) -> None:
    """It follows from more; at greater depths it would have had that."""
    held, depends, ends, dirty = state[0], state[1], state[6], state[10]
    if end <= depends[who]:
        return
    depends[who] = end
    for v in range(len(held)):
        if how[v] == AS_DEPENDED and end > held[v, who]:
            if crosses(held[v, who], end, ends[v]):
                dirty[v] = True
            held[v, who] = end
        if end > held[v, who] and end > least(ends[v]):
            dirty[v] = True


@compiled
def end(who: int, state: Any) -> None:
    """Its execution has ended."""
    held, depends, lost, ends, dirty = state[0], state[1], state[2], state[6], state[10]
    for v in range(len(held)):
        if lost[who] or is_any(ends[v]):
            dirty[v] = True
        held[v, who] = 0
    depends[who], lost[who] = 0, False


@compiled
def go_on(who: int, attempt: int, given: int, task_of_who: Any, state: Any, numbers: Any) -> None:
    """Whoever depends on more than what came back depends on what nobody will make again."""
    held, depends, lost, touched, clips = state[0], state[1], state[2], state[3], state[11]
    if given < FOREVER:
        clips[0, numbers[CLIPS]], clips[1, numbers[CLIPS]] = attempt, given
        numbers[CLIPS] += 1
        for n in range(numbers[COUNT]):
            one = touched[n]
            if task_of_who[one] != task_of_who[who] and depends[one] > given:
                lost[one], depends[one] = True, given
            for v in range(len(held)):
                held[v, one] = min(held[v, one], given)
    held[:, who] = FOREVER


@compiled
def surplus(task: int, task_of_who: Any, is_outside: Any, state: Any, numbers: Any) -> int:
    """Bytes that tasks other than the log's own hold and don't depend on, as recorded."""
    held, depends, touched = state[0], state[1], state[3]
    found = 0
    for n in range(numbers[COUNT]):
        one = touched[n]
        if task_of_who[one] != task and not is_outside[one]:
            found += max(0, held[0, one] - depends[one])
    return found


@compiled
def find_ends(v: int, is_outside: Any, host_of: Any, outside: int, state: Any, numbers: Any) -> None:
    """Of which bytes the sizes are: the last ones that somebody depends on without holding them."""
    held, depends, touched, at_host, ends = state[0][v], state[1], state[3], state[5], state[6][v]
    stable = 0
    ends[:] = 0
    for n in range(numbers[COUNT]):
        one = touched[n]
        if is_outside[one]:
            stable = max(stable, held[one])
        else:
            at_host[host_of[one]] = max(at_host[host_of[one]], held[one])
    for n in range(numbers[COUNT]):
        one = touched[n]
        if depends[one] > held[one] and depends[one] > stable:
            ends[1] = max(ends[1], depends[one])
            if one != outside:
                ends[0] = max(ends[0], depends[one])
            if one == outside:
                ends[3] = max(ends[3], depends[one])
            elif depends[one] > at_host[host_of[one]]:
                ends[2], ends[3] = max(ends[2], depends[one]), max(ends[3], depends[one])


@compiled
def count_sizes(v: int, is_outside: Any, host_of: Any, outside: int, state: Any, numbers: Any) -> None:
    """How many tasks and hosts hold those bytes."""
    held, lost, touched, at_host, ends, found = state[0][v], state[2], state[3], state[5], state[6][v], state[9]
    for q in range(SIZES):
        found[q] = 0 if ends[q] else NONE
    for n in range(numbers[COUNT]):
        one = touched[n]
        if not is_outside[one]:
            for q in range(SIZES):
                has = held[one] if q < 2 else at_host[host_of[one]]
                if ends[q] and has >= ends[q]:
                    found[q] += 1
            at_host[host_of[one]] = 0  # a host counts once, and is clear for the next time
    for n in range(numbers[COUNT]):
        one = touched[n]
        if lost[one]:
            found[1] = found[3] = 0
            if one != outside:
                found[0] = found[2] = 0
