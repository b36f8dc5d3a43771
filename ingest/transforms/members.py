"""A channel's members by attempt and epoch, as numbers: where there are millions, names would fill memory."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator

from replay.bundle.members import MemberName
from replay.errors import check

Key = tuple[int, int]
"""An attempt, of the task in the name, and an epoch."""


class Members:
    """Those of one kind, which one task wrote for one channel. Their names differ in attempt and epoch alone."""

    __slots__ = ("_attempts", "_epochs", "_known", "_name", "_sizes")

    def __init__(self) -> None:
        self._attempts, self._epochs, self._sizes = array("q"), array("q"), array("q")
        self._name = ""
        self._known: frozenset[Key] | None = None

    def __len__(self) -> int:
        return len(self._epochs)

    def __iter__(self) -> Iterator[Key]:
        return zip(self._attempts, self._epochs, strict=True)

    @property
    def bytes(self) -> int:
        """Of all together."""
        return sum(self._sizes)

    @property
    def epochs(self) -> Iterator[int]:
        """Of each."""
        return iter(self._epochs)

    def add(self, member: MemberName, size: int) -> None:
        """It has a name that says all of itself."""
        attempt, epoch = member.attempt or 0, member.epoch or 0
        if not self._name:
            _, task, _, folder, file = member.name.split("/")
            self._name = f"tasks/{_as_format(task)}/{{}}/{_as_format(folder)}/{{}}.{file.rpartition('.')[2]}"
        check(self.path(attempt, epoch) == member.name, f"{member.name} is no name like {self._name}")
        self._attempts.append(attempt)
        self._epochs.append(epoch)
        self._sizes.append(size)
        self._known = None

    def path(self, attempt: int, epoch: int) -> str:
        """The name, of one that there is."""
        return self._name.format(attempt, epoch)

    def get(self, attempt: int, epoch: int) -> str | None:
        """The name, if there is one."""
        if self._known is None:
            self._known = frozenset(self)
        return self.path(attempt, epoch) if (attempt, epoch) in self._known else None

    def paths(self) -> Iterator[str]:
        """Of all."""
        return (self.path(*key) for key in self)

    def by_epoch(self) -> dict[int, list[int]]:
        """The attempts that have it, in the order in which they were added."""
        found: dict[int, list[int]] = defaultdict(list)
        for attempt, epoch in self:
            found[epoch].append(attempt)
        return dict(found)

    def between(self, begin: int, end: int) -> Members:
        """Those of the epochs from `begin` on and before `end`."""
        found = Members()
        found._name = self._name
        for (attempt, epoch), size in zip(self, self._sizes, strict=True):
            if begin <= epoch < end:
                found._attempts.append(attempt)
                found._epochs.append(epoch)
                found._sizes.append(size)
        return found


def _as_format(words: str) -> str:
    return words.replace("{", "{{").replace("}", "}}")
