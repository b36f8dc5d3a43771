"""Checkpoints and messages of processes, as papers draw them: which lines are consistent, and where a recovery ends.

Interval x of a process ends with its checkpoint x; checkpoint 0 is the initial state. What came after the last
checkpoint is one more interval, and the state that it ends in is what a process that did not fail still has.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

Line = dict[str, int]
"""Of each process the checkpoint that it is at; one more than its last one: its state as it is."""


@dataclass(frozen=True, slots=True)
class Message:
    """Sent in one interval of a process and received in one of another; never, where that is None."""

    name: str
    sender: str
    sent: int
    receiver: str
    received: int | None


@dataclass(frozen=True, slots=True)
class Pattern:
    """`last` is the last checkpoint of every process."""

    last: Mapping[str, int]
    messages: tuple[Message, ...]

    def orphans(self, line: Mapping[str, int]) -> list[Message]:
        """What the line's states have received and not sent."""
        return [one for one in self.messages if self._received(one, line) and one.sent > line[one.sender]]

    def in_transit(self, line: Mapping[str, int]) -> list[Message]:
        """What the line's states have sent and not received."""
        return [one for one in self.messages if one.sent <= line[one.sender] and not self._received(one, line)]

    def is_consistent(self, line: Mapping[str, int]) -> bool:
        """Whether nothing is an orphan."""
        return not self.orphans(line)

    def current(self, failed: Iterable[str] = ()) -> Line:
        """Where a recovery begins: those that failed at their last checkpoint, the others as they are."""
        gone = set(failed)
        return {process: last if process in gone else last + 1 for process, last in self.last.items()}

    def recovery_line(self, start: Mapping[str, int]) -> Line:
        """The latest consistent line that is nowhere past the start. Looks at every message at most once.

        What a process that goes back has not sent then takes back whoever received it.
        """
        line: Line = dict(start)
        by_sender: dict[str, list[Message]] = defaultdict(list)
        for one in self.messages:
            if one.received is not None:
                by_sender[one.sender].append(one)
        for those in by_sender.values():
            those.sort(key=lambda one: one.sent)
        waiting = deque(line)
        while waiting:
            sender = waiting.popleft()
            unsent = by_sender[sender]
            while unsent and unsent[-1].sent > line[sender]:
                one = unsent.pop()
                if one.received is not None and one.received <= line[one.receiver]:
                    line[one.receiver] = one.received - 1
                    waiting.append(one.receiver)
        return line

    def passed(self, start: Mapping[str, int], line: Mapping[str, int]) -> dict[str, int]:
        """How many of its checkpoints each process goes back over: those that were of no use to this recovery."""
        return {one: min(start[one], self.last[one]) - min(line[one], self.last[one]) for one in self.last}

    def _received(self, one: Message, line: Mapping[str, int]) -> bool:
        return one.received is not None and one.received <= line[one.receiver]


Node = tuple[str, int]
Edges = dict[Node, set[Node]]


def rollback_dependency_graph(pattern: Pattern) -> Edges:
    """From the interval that sent to the one that received: where the one is rolled back, so is the other."""
    return _graph(pattern, lambda one: (one.sender, one.sent))


def checkpoint_graph(pattern: Pattern) -> Edges:
    """From the checkpoint before the interval that sent: with it alone, what follows can't be kept."""
    return _graph(pattern, lambda one: (one.sender, one.sent - 1))


def line_by_dependencies(pattern: Pattern, start: Mapping[str, int]) -> Line:
    """The recovery line, read off the rollback-dependency graph: the last ones that no lost interval reaches."""
    edges = rollback_dependency_graph(pattern)
    lost = _reached(edges, [(process, at + 1) for process, at in start.items()])
    line = dict(start)
    for process, interval in lost:
        line[process] = min(line[process], interval - 1)
    return line


def line_by_checkpoints(pattern: Pattern, start: Mapping[str, int]) -> Line:
    """The recovery line by propagation over the checkpoint graph: roots that are reached give way to ones before."""
    edges, roots = checkpoint_graph(pattern), dict(start)
    while True:
        behind = chain.from_iterable(edges.get(node, ()) for node in roots.items())
        marked = _reached(edges, behind)
        if not any(node in marked for node in roots.items()):
            return roots
        for process, at in roots.items():
            while (process, at) in marked:
                at -= 1
            roots[process] = at


def _graph(pattern: Pattern, tail: Callable[[Message], Node]) -> Edges:
    edges: Edges = {}
    for process, last in pattern.last.items():
        for x in range(last + 1):
            edges.setdefault((process, x), set()).add((process, x + 1))
    for one in pattern.messages:
        if one.received is not None and one.sender != one.receiver:
            edges.setdefault(tail(one), set()).add((one.receiver, one.received))
    return edges


def _reached(edges: Edges, start: Iterable[Node]) -> set[Node]:
    found: set[Node] = set()
    waiting = list(start)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(edges.get(node, ()))
    return found
