"""Members of a recording that belong together, by their names: what may go in one go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping


def groups_of(members: Mapping[str, bytes]) -> Iterator[frozenset[str]]:
    """What is of one kind, of one epoch, task, attempt or folder, each once: of each sort the largest first."""
    known: set[frozenset[str]] = set()
    for sort in (_kind, _epoch, _task, _attempt, _folder):
        found: dict[object, set[str]] = {}
        for name in members:
            if (key := sort(name.split("/"))) is not None:
                found.setdefault(key, set()).add(name)
        by_size = sorted(found.items(), key=lambda one: (-_size(members, one[1]), str(one[0])))
        for _, names in by_size:
            if (group := frozenset(names)) not in known:
                known.add(group)
                yield group


def _size(members: Mapping[str, bytes], names: Iterable[str]) -> int:
    return sum(len(members[name]) for name in names)


def _kind(parts: list[str]) -> object:
    """Sent buffers apart from their sendings; all outputs, or all inputs, alike."""
    if len(parts) < 4:
        return None
    return parts[3].partition("-")[0], parts[-1].rpartition(".")[2]


def _epoch(parts: list[str]) -> object:
    return parts[-1].partition(".")[0] if len(parts) == 5 else None


def _task(parts: list[str]) -> object:
    return parts[1] if len(parts) > 3 else None


def _attempt(parts: list[str]) -> object:
    return (parts[1], parts[2]) if len(parts) > 3 else None


def _folder(parts: list[str]) -> object:
    return tuple(parts[1:4]) if len(parts) == 5 else None
