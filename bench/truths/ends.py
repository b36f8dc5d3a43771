"""Plants a fault at the very end of what an attempt left that another one followed: there little else tells of it."""

from __future__ import annotations

from random import Random
from typing import Any

from bench.truths.plants import KINDS, Members, Plant, delta_cut, determinant_changed, dropped

AT_ENDS = tuple(kind for kind, (_, _, change) in KINDS.items() if change in (dropped, delta_cut, determinant_changed))


def planted_at_an_end(kind: str, members: Members, seed: int) -> Plant | None:
    """None where no attempt that was followed left anything that it could be planted into."""
    draw = _Last(f"{kind} {seed} at an end")
    suffix, folder, change = KINDS[kind]
    names = [name for name in _last_of_all(members, folder, suffix) if members[name]]
    draw.shuffle(names)
    for name in names:
        found = change(draw, name, members[name])
        if found is not None and found[1] != members[name]:
            return Plant(kind, name, found[0], {**members, name: found[1]})
    return None


class _Last(Random):
    """Draws nothing but the last of what there is to choose from."""

    def choice(self, seq: Any) -> Any:
        return seq[-1]


def _last_of_all(members: Members, folder: str, suffix: str) -> list[str]:
    """Of each folder of each attempt but a task's last the member of the latest epoch."""
    attempts: dict[str, int] = {}
    last: dict[tuple[str, int, str], tuple[int, str]] = {}
    for name in members:
        task, attempt, kind, member = (name.split("/") + [""] * 4)[1:5]
        if not name.startswith("tasks/") or not attempt.isdigit():
            continue
        attempts[task] = max(attempts.get(task, 0), int(attempt))
        epoch = member.removesuffix(suffix)
        if name.endswith(suffix) and f"/{folder}" in name and epoch.isdigit():
            key = task, int(attempt), kind
            last[key] = max(last.get(key, (-1, "")), (int(epoch), name))
    return sorted(name for (task, attempt, _), (_, name) in last.items() if attempt < attempts[task])
