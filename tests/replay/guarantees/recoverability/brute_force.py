"""Recoverability straight from its definition: every byte's Log and Depend as sets, and every set of failures tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

WORLD = "world"
AFTER_ALL = 1 << 60


class Row(NamedTuple):
    """`who` had (or depended on) a log up to `upto`, as attempt `whose` of its task wrote it."""

    t_us: int
    who: str
    attempt: int
    log: tuple[str, str, int]
    upto: int
    whose: int = 0


def smallest(moments: Iterable[tuple[frozenset[str], frozenset[str]]], victims: Iterable[str], most: int) -> int | None:
    """The size of the smallest set of failures that leaves one alive who depends on what nobody alive has."""
    choices = set(moments)
    alive = sorted(victims)
    for size in range(min(most, len(alive)) + 1):
        for failed in map(frozenset, combinations(alive, size)):
            if any(log <= failed and not depend <= failed for log, depend in choices):
                return size
    return None


class Definition:
    """All rows and events, asked for one moment at a time."""

    def __init__(self, events: list[dict[str, Any]], held: list[Row], depended: list[Row]) -> None:
        self.events = events
        self.held = held
        self.depended = depended
        # The same is asked for every byte.
        self._ever = cache(self._gone_on)
        self.gone_on = cache(lambda task, t_us: [one for one in self._ever(task) if one[0] <= t_us])
        self.generation = cache(self._generation)
        self.began = cache(self._began)
        self.lineage = cache(self._lineage)

    def alive(self, t_us: int) -> dict[str, int]:
        """By task: the attempt that lives."""
        found: dict[str, int] = {}
        for one in self.events:
            if one["t_us"] > t_us:
                break
            if one["type"] == "attempt-started":
                found[one["task"]] = one["attempt"]
            elif one["type"] == "task-failed" and found.get(one["task"]) == one["attempt"]:
                del found[one["task"]]
            elif one["type"] == "global-rollback":
                found.clear()
        return found

    def hosts(self, alive: dict[str, int]) -> dict[str, str]:
        starts = [one for one in self.events if one["type"] == "attempt-started"]
        return {one["task"]: one["host"] for one in starts if alive.get(one["task"]) == one["attempt"]}

    def stable(self, epoch: int, t_us: int) -> bool:
        done = (one for one in self.events if one["type"] == "checkpoint-completed" and one["t_us"] <= t_us)
        return any(one["checkpoint"] > epoch for one in done)

    def _gone_on(self, task: str) -> list[tuple[int, int, dict[tuple[str, int], int]]]:
        """(when, attempt, what it was given), of attempts after the first that went on by themselves."""
        found = []
        for start in self.events:
            if start["type"] != "attempt-started" or start["task"] != task or not start["attempt"]:
                continue
            mine = [one for one in self.events if one.get("attempt") == start["attempt"] and one.get("task") == task]
            states = [one["t_us"] for one in mine if one["type"] == "recovery-state"]
            replays = [
                one["t_us"] for one in mine if one["type"] == "recovery-state" and one["to"] in ("Replaying", "Running")
            ]
            free = "rollback" in start or start.get("diverged") or not states
            when = start["t_us"] if free else min(replays, default=AFTER_ALL)
            given: dict[tuple[str, int], int] = {}
            for _, extents in [] if free else self.answers(task, start["attempt"]):
                for place, upto in extents.items():
                    given[place] = max(upto, given.get(place, 0))
            if self.lived(task, start["attempt"], when):
                found.append((when, start["attempt"], given))
        return sorted(found)

    def lived(self, task: str, attempt: int, t_us: int) -> bool:
        return self.alive(t_us).get(task) == attempt

    def answers(self, task: str, attempt: int) -> Iterator[tuple[int, dict[tuple[str, int], int]]]:
        for one in self.events:
            if one["type"] == "determinants-received" and one["of"] == one["at"] == task and one["attempt"] == attempt:
                yield one["t_us"], {(thread, epoch): upto for _, thread, epoch, upto in one["logs"]}

    def _lineage(self, t_us: int) -> int:
        return sum(one["type"] == "global-rollback" and one["t_us"] <= t_us for one in self.events)

    def _generation(self, log: tuple[str, str, int], attempt: int, byte: int, t_us: int) -> int:
        """Which attempt first wrote a byte that stands in an attempt's log."""
        for _, one, given in reversed(self.gone_on(log[0], t_us)):
            if one <= attempt and byte >= given.get(log[1:], 0):
                return one
        return 0

    # --- one moment ---

    def sets(self, t_us: int) -> list[tuple[frozenset[str], frozenset[str]]]:
        """Log and Depend of every choice that is not stable; the outside is `world`."""
        found: list[tuple[frozenset[str], frozenset[str]]] = []
        alive = self.alive(t_us)
        for log in sorted({row.log for row in self.depended}):
            if self.stable(log[2], t_us):
                continue
            gone_on = self.gone_on(log[0], t_us)
            now = gone_on[-1][1] if gone_on else 0
            held = [row for row in self.held if row.log == log and self._counts(row, alive, t_us)]
            depended = [row for row in self.depended if row.log == log and self._counts(row, alive, t_us)]
            for byte in sorted({row.upto - 1 for row in (*held, *depended)} | self._given(log, t_us)):
                found += self._of_byte(log, byte, held, depended, now, alive, t_us)
        return found

    def _given(self, log: tuple[str, str, int], t_us: int) -> set[int]:
        """Bytes at either side of what recoveries were given."""
        ends = {given.get(log[1:], 0) for _, _, given in self.gone_on(log[0], t_us)}
        return {byte for end in ends for byte in (end - 1, end) if byte >= 0}

    def _counts(self, row: Row, alive: dict[str, int], t_us: int) -> bool:
        if row.t_us > t_us:
            return False
        if row.who == WORLD:
            return row.attempt in (-1, self.lineage(t_us)) and (
                row.attempt == -1 or self.lineage(row.t_us) == row.attempt
            )
        return alive.get(row.who) == row.attempt and self.began(row.who, row.attempt) <= row.t_us

    def _began(self, task: str, attempt: int) -> int:
        starts = [one for one in self.events if one["type"] == "attempt-started" and one["task"] == task]
        return int(next(one["t_us"] for one in starts if one["attempt"] == attempt))

    def _of_byte(
        self,
        log: tuple[str, str, int],
        byte: int,
        held: list[Row],
        depended: list[Row],
        now: int,
        alive: dict[str, int],
        t_us: int,
    ) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
        current = self.generation(log, now, byte, t_us)
        have = {row.who for row in held if row.upto > byte and self.generation(log, row.whose, byte, t_us) == current}
        if self._owner_has(log, byte, alive, now, t_us):
            have.add(log[0])
        need: dict[int, set[str]] = {}
        for row in depended:
            if row.upto > byte:
                then = self.gone_on(log[0], row.t_us - 1)
                written = self.generation(log, then[-1][1] if then else 0, byte, row.t_us)
                need.setdefault(written, set()).add(row.who)
        for generation, dependents in need.items():
            if generation != current:
                yield frozenset(), frozenset(dependents)  # lost: nobody goes back to it
            elif WORLD not in have:
                yield frozenset(have), frozenset(dependents)

    def _owner_has(self, log: tuple[str, str, int], byte: int, alive: dict[str, int], now: int, t_us: int) -> bool:
        attempt = alive.get(log[0])
        if attempt is None:
            return False
        if attempt == now:
            return True
        told = [extents.get(log[1:], 0) for at_us, extents in self.answers(log[0], attempt) if at_us <= t_us]
        return max(told, default=0) > byte

    def answer(self, t_us: int, *, by: str, world: bool, most: int = 12) -> int | None:
        alive = self.alive(t_us)
        sets = self.sets(t_us)
        if not world:
            sets = [(log, depend - {WORLD}) for log, depend in sets]
        if by == "task":
            return smallest(sets, alive, most)
        hosts = {**self.hosts(alive), WORLD: WORLD}
        on_hosts = [(frozenset(hosts[a] for a in log), frozenset(hosts[a] for a in depend)) for log, depend in sets]
        return smallest(on_hosts, {hosts[task] for task in alive}, most)
