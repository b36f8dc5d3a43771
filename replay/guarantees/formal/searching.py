"""Looks for a run without failures that gives consumers what they were given, among all runs of a recorded job.

Inputs enter no earlier than they did beside what was given. Tasks with one input have no choice, so only the order in
which tasks with several take is tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from replay.guarantees.formal.obtaining import Obtained
from replay.guarantees.formal.outputs import Output
from replay.guarantees.formal.recorded_job import RecordedJob, as_given
from replay.model import Channel, TaskId

MOST_TRIED = 4_000
MOST_SEARCHED = 200
"""So many source records at most are searched over."""


class _State(NamedTuple):
    """`entered`: by source, how far; `matched`: by sink, how many fit; `again`: how many were lost or came again."""

    states: tuple[bytes, ...]
    queues: tuple[tuple[bytes, ...], ...]
    entered: tuple[int, ...]
    matched: tuple[int, ...]
    again: int = 0


class Search:
    """All runs without failures that give what was given; with inputs that are lost or come again, where asked."""

    def __init__(self, job: RecordedJob, *, loses: bool = False, repeats: bool = False, most: int = MOST_TRIED) -> None:
        self._job, self._loses, self._repeats, self._most = job, loses, repeats, most
        self._graph = job.source.graph
        self._tasks = list(self._graph.order)
        self._place = {task: n for n, task in enumerate(self._tasks)}
        self._channels = {channel.id: n for n, channel in enumerate(self._graph.channels)}
        self._sources = [task for task in self._tasks if task in job.inputs]
        self._sinks = [task for task in self._tasks if task in job.given]
        self._expected = {task: [as_given(one) for one in job.given[task]] for task in self._sinks}
        self._edges = {task: job.tasks[task].edges() for task in self._tasks}
        self._best: _State | None = None

    def run(self) -> Obtained:
        """Depth first, each state once."""
        if self._job.records > MOST_SEARCHED:
            return Obtained(None, f"more than {MOST_SEARCHED} records entered, and other runs were not tried", 0)
        turns = next((task for task in self._tasks if self._job.tasks[task].takes_turns), None)
        if turns is not None:
            return Obtained(None, f"{turns} deals its records out by turns, and other runs were not tried", 0)
        states = tuple(self._job.tasks[task].initial for task in self._tasks)
        start = _State(states, ((),) * len(self._channels), (0,) * len(self._sources), (0,) * len(self._sinks))
        waiting, known = [start], {start}
        while waiting:
            state = self._settled(waiting.pop())
            if state is None:
                continue
            if self._is_done(state):
                return Obtained(True, f"proved by a run that was found among {len(known):,} tried", len(known))
            for following in reversed(list(self._choices(state))):
                if following not in known:
                    if len(known) >= self._most:
                        return Obtained(None, f"no such run among {len(known):,} tried", len(known), self._against())
                    known.add(following)
                    waiting.append(following)
        return Obtained(False, f"refuted by exhausting {len(known):,}", len(known), self._against())

    def _is_done(self, state: _State) -> bool:
        if self._best is None or sum(state.matched) > sum(self._best.matched):
            self._best = state
        return all(n == len(self._expected[task]) for n, task in zip(state.matched, self._sinks, strict=True))

    def _against(self) -> Output | None:
        """The earliest output that the run which came furthest does not give."""
        matched = (0,) * len(self._sinks) if self._best is None else self._best.matched
        left = [
            those[n] for n, task in zip(matched, self._sinks, strict=True) if n < len(those := self._job.given[task])
        ]
        return min(left, key=lambda one: one.seen_us or 0, default=None)

    # --- from one state to the next ---

    def _settled(self, state: _State) -> _State | None:
        """After all that happens whatever is chosen; None where a sink gives something else."""
        found: _State | None = state
        while found is not None:
            state = found
            found = self._next_settled(state)
            if found is state:
                return state
        return None

    def _next_settled(self, state: _State) -> _State | None:
        for n, task in enumerate(() if self._loses or self._repeats else self._sources):
            if self._may_enter(state, n):
                return self._put(self._entered(state, n), task, "", self._record(state, n))
        for task in self._tasks:
            inputs = self._graph.task(task).inputs
            if len(inputs) == 1 and self._wants(state, task) and state.queues[self._channels[inputs[0]]]:
                return self._take(state, task, self._graph.channel(inputs[0]))
        return state

    def _choices(self, state: _State) -> Iterator[_State]:
        """Those first that lose and repeat nothing."""
        if self._loses or self._repeats:
            yield from self._entering(state)
        for task in self._tasks:
            inputs = self._graph.task(task).inputs
            if len(inputs) > 1 and self._wants(state, task):
                for name in inputs:
                    if state.queues[self._channels[name]]:
                        taken = self._take(state, task, self._graph.channel(name))
                        yield from () if taken is None else (taken,)
        if self._loses or self._repeats:
            yield from self._flawed(state)

    def _entering(self, state: _State) -> Iterator[_State]:
        for n, task in enumerate(self._sources):
            if self._may_enter(state, n):
                put = self._put(self._entered(state, n), task, "", self._record(state, n))
                yield from () if put is None else (put,)

    def _flawed(self, state: _State) -> Iterator[_State]:
        """An input is lost, or one comes again; more often than anything was given would help nobody."""
        changed = state._replace(again=state.again + 1)
        for n, task in enumerate(self._sources):
            if self._loses and self._may_enter(state, n):
                yield self._entered(changed, n)
            if self._repeats and state.again < sum(map(len, self._expected.values())):
                for one in self._job.inputs[task][: state.entered[n]]:
                    put = self._put(changed, task, "", one.record)
                    yield from () if put is None else (put,)

    def _wants(self, state: _State, task: TaskId) -> bool:
        """A sink that has given all that was seen of it need not go on."""
        if task in self._expected:
            return state.matched[self._sinks.index(task)] < len(self._expected[task])
        return bool(self._graph.task(task).outputs)

    def _may_enter(self, state: _State, n: int) -> bool:
        """Not before what was given before it came."""
        task, at = self._sources[n], state.entered[n]
        if at >= len(self._job.inputs[task]):
            return False
        t_us = self._job.inputs[task][at].t_us
        return all(
            done >= len(self._job.given[sink]) or (self._job.given[sink][done].seen_us or 0) >= t_us
            for done, sink in zip(state.matched, self._sinks, strict=True)
        )

    def _record(self, state: _State, n: int) -> bytes:
        return self._job.inputs[self._sources[n]][state.entered[n]].record

    def _entered(self, state: _State, n: int) -> _State:
        return state._replace(entered=_changed(state.entered, n, state.entered[n] + 1))

    def _take(self, state: _State, task: TaskId, channel: Channel) -> _State | None:
        at = self._channels[channel.id]
        record, *rest = state.queues[at]
        state = state._replace(queues=_changed(state.queues, at, tuple(rest)))
        return self._put(state, task, self._graph.task(channel.source).vertex, record)

    def _put(self, state: _State, task: TaskId, origin: str, record: bytes) -> _State | None:
        n = self._place[task]
        after, sent, written = self._job.tasks[task].step(state.states[n], origin, record)
        queues = list(state.queues)
        for body in sent:
            for k in self._edges[task].of(body):
                at = self._channels[self._graph.task(task).outputs[k].channel]
                queues[at] = (*queues[at], body)
        state = state._replace(states=_changed(state.states, n, after), queues=tuple(queues))
        return self._give(state, task, written) if written and task in self._expected else state

    def _give(self, state: _State, task: TaskId, written: tuple[bytes, ...]) -> _State | None:
        """What is given past all that was seen has not left yet."""
        n = self._sinks.index(task)
        done, expected = state.matched[n], self._expected[task]
        for one in written:
            if done < len(expected) and expected[done] != one:
                return None
            done = min(done + 1, len(expected))
        return state._replace(matched=_changed(state.matched, n, done))


def _changed(those: tuple[Any, ...], n: int, one: Any) -> tuple[Any, ...]:
    return (*those[:n], one, *those[n + 1 :])
