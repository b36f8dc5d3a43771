"""Z-paths: messages of which each leaves in the interval where the one before arrived, or in a later one.

A checkpoint from which one leads back to before itself is on no consistent line, whatever the others do.
"""

from __future__ import annotations

from collections import defaultdict, deque

from replay.guarantees.cuts.pattern import Message, Node, Pattern


def z_path(pattern: Pattern, start: Node, end: Node) -> list[Message] | None:
    """A shortest Z-path from one checkpoint to another, or to itself; None where there is none.

    Looks at every message at most once.
    """
    by_sender: dict[str, list[Message]] = defaultdict(list)
    for one in pattern.messages:
        if one.received is not None:
            by_sender[one.sender].append(one)
    for those in by_sender.values():
        those.sort(key=lambda one: one.sent)
    came_by: dict[Message, Message | None] = {}
    waiting: deque[Message] = deque()

    def leave(process: str, interval: int, before: Message | None) -> None:
        leaving = by_sender[process]
        while leaving and leaving[-1].sent >= interval:
            one = leaving.pop()
            came_by[one] = before
            waiting.append(one)

    leave(start[0], start[1] + 1, None)
    while waiting:
        one = waiting.popleft()
        if one.received is None:
            continue
        if one.receiver == end[0] and one.received <= end[1]:
            return _path(one, came_by)
        leave(one.receiver, one.received, one)
    return None


def z_cycles(pattern: Pattern) -> dict[Node, list[Message]]:
    """The checkpoints that a Z-path leads back to, each with a shortest one: useless to every recovery."""
    found = {}
    for process, last in pattern.last.items():
        for checkpoint in range(last + 1):
            path = z_path(pattern, (process, checkpoint), (process, checkpoint))
            if path is not None:
                found[process, checkpoint] = path
    return found


def _path(last: Message, came_by: dict[Message, Message | None]) -> list[Message]:
    path = [last]
    while (before := came_by[path[-1]]) is not None:
        path.append(before)
    return path[::-1]
