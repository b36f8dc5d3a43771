"""What would travel of a task's logs at a sharing depth: one event after the other, byte by byte, from the members."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.replay.causality.brute_force import SENDING, Raw

Bytes = dict[tuple[str, int], set[int]]
"""By (thread, epoch): offsets."""

_ASKED, _ARRIVED, _FORGOT, _SENT = range(4)


class Travelling:
    """After `run`: `channels[channel]["new" | "again" | "sent"]` in bytes. `ambiguous`: within one microsecond of one
    attempt something arrived and something left, or it left and arrived, so that their order stands in no member."""

    def __init__(self, raw: Raw, task: str, depth: int) -> None:
        self.raw, self.task, self.depth = raw, task, depth
        self.events = [json.loads(line) for line in raw.members["events.ndjson"].splitlines()]
        self.channels: dict[str, Counter[str]] = {}
        self.ambiguous = False
        self.ever: dict[tuple[str, int], Bytes] = {}
        self.kept: dict[tuple[str, int], Bytes] = {}
        self.first: Counter[tuple[str, int]] = Counter()
        self.told: dict[tuple[str, int], tuple[int, int, Bytes]] = {}
        self.under_way: dict[tuple[str, int, int, int], Bytes] = {}
        self.moved: dict[tuple[str, int], int] = {}
        self.came: set[tuple[str, int, int, int]] = set()
        self.hops = self._hops()

    def _hops(self) -> dict[str, int]:
        found, edge = {self.task: 0}, [self.task]
        while edge:
            one = edge.pop(0)
            for output in self.raw.tasks[one]["outputs"]:
                target = output["channel"].split(">")[1]
                if target not in found:
                    found[target] = found[one] + 1
                    edge.append(target)
        return found

    def run(self) -> Travelling:
        turns = sorted([*self._asked(), *self._receipts(), *self._forgot(), *self._sendings()], key=lambda one: one[:4])
        for t_us, kind, _, _, who, what in turns:
            if kind == _SENT and self.moved.get(who) == t_us:
                self.ambiguous = True
            if kind == _ARRIVED and what in self.under_way:
                self.moved[who] = t_us
            (self._ask, self._arrive, self._forget, self._send)[kind](who, what)
        return self

    # --- what happened, as (t_us, kind, order, order, who, what) ---

    def _asked(self) -> Any:
        for event in self.events:
            if event["type"] == "replay-request-received":
                what = event["channel"], event["epoch"]
                yield event["t_us"], _ASKED, event["n"], 0, (event["at"], event["attempt"]), what

    def _forgot(self) -> Any:
        for event in self.events:
            if event["type"] == "checkpoint-notified":
                yield event["t_us"], _FORGOT, event["n"], 0, (event["at"], event["attempt"]), event["checkpoint"]

    def _receipts(self) -> Any:
        for task in self.hops:
            for i, channel in enumerate(self.raw.tasks[task]["inputs"]):
                for attempt in self.raw.attempts(task):
                    for n, one in enumerate(self.raw.receipts(task, attempt, i)):
                        yield one[3], _ARRIVED, i, n, (task, attempt), (channel, one[1], one[0], one[2])

    def _sendings(self) -> Any:
        for task in self.hops:
            for k, output in enumerate(self.raw.tasks[task]["outputs"]):
                for attempt in self.raw.attempts(task):
                    n = 0
                    for _, data in self.raw.files(task, attempt, f"sent-{k}", ".dlt"):
                        for head, delta in self.raw.framed(SENDING, data):
                            n += 1
                            yield head[1], _SENT, k, n, (task, attempt), (output["channel"], head, delta)

    # --- what that does ---

    def _ask(self, who: tuple[str, int], what: tuple[str, int]) -> None:
        channel, epoch = what
        receiver = self.told.get((channel, who[1]), (None, 0, {}))[0]
        self.told[channel, who[1]] = receiver, epoch, {}  # type: ignore[assignment]

    def _forget(self, who: tuple[str, int], checkpoint: int) -> None:
        self.first[who] = max(self.first[who], checkpoint)
        kept = self.kept.get(who, {})
        self.kept[who] = {place: these for place, these in kept.items() if place[1] >= checkpoint}

    def _send(self, who: tuple[str, int], what: tuple[str, tuple[int, ...], bytes]) -> None:
        channel, (seq, _, receiver, sending, *_), delta = what
        carried: Bytes = {}
        if who[0] == self.task:
            for task, thread, epoch, offset, data in self.raw.entries(delta):
                if task == self.task:
                    carried.setdefault((thread, epoch), set()).update(range(offset, offset + len(data)))
        elif self.hops[who[0]] < self.depth:
            known, from_epoch, told = self.told.get((channel, who[1]), (None, None, {}))
            if known != receiver:
                asked = known is None and from_epoch is not None
                from_epoch = from_epoch if asked else self._restored(channel.split(">")[1], receiver)
                told = {}
            for place, these in self.kept.get(who, {}).items():
                fresh = these - told.get(place, set())
                if fresh and place[1] >= (from_epoch or 0):
                    carried[place] = fresh
                    told.setdefault(place, set()).update(fresh)
            self.told[channel, who[1]] = receiver, from_epoch or 0, told
        if carried:
            self.ambiguous |= (channel, who[1], seq, sending) in self.came
            self.under_way[channel, who[1], seq, sending] = carried
            counts = self.channels.setdefault(channel, Counter())
            counts["sent"] += sum(map(len, carried.values()))

    def _restored(self, task: str, attempt: int) -> int:
        begun = (e for e in self.events if e["type"] == "attempt-started")
        return next((e["checkpoint"] for e in begun if (e["task"], e["attempt"]) == (task, attempt)), 0)

    def _arrive(self, who: tuple[str, int], what: tuple[str, int, int, int]) -> None:
        self.came.add(what)
        for place, these in self.under_way.pop(what, {}).items():
            ever = self.ever.setdefault(who, {}).setdefault(place, set())
            self.channels[what[0]]["new"] += len(these - ever)
            self.channels[what[0]]["again"] += len(these & ever)
            ever |= these
            if place[1] >= self.first[who]:
                self.kept.setdefault(who, {}).setdefault(place, set()).update(these)
