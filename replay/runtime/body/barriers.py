"""Checkpoints inside of a task: which inputs wait at a barrier, which checkpoints are ignored, what snapshots lack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from replay.runtime.body.gate import InputGate

State = dict[str, Any]


class Alignment:
    """An input that brought a barrier is blocked until all others have brought theirs, or it is let go."""

    def __init__(self, gate: InputGate):
        self._gate = gate
        self._barriers: dict[int, int] = {}
        self._ignored: set[int] = set()

    def take(self, i: int, checkpoint: int, epoch: int) -> int | None:
        """The checkpoint that this barrier completes, if it does."""
        if checkpoint <= epoch or checkpoint in self._ignored:
            return None
        self._barriers[i] = checkpoint
        self._gate.blocked.add(i)
        newest = max(self._barriers.values())
        # A channel that went on to a later barrier never brings the earlier one: that checkpoint can't be aligned here.
        for j in [j for j, barrier in self._barriers.items() if barrier < newest]:
            self._unblock(j)
        return newest if len(self._barriers) == len(self._gate.channels) else None

    def ignores(self, checkpoint: int) -> bool:
        """Whether the task was told to let it go."""
        return checkpoint in self._ignored

    def ignore(self, checkpoint: int) -> None:
        """Lets a checkpoint go: now, and when its other barriers come."""
        self._ignored.add(checkpoint)
        for i in [i for i, barrier in self._barriers.items() if barrier == checkpoint]:
            self._unblock(i)

    def passed(self, checkpoint: int) -> None:
        """The task is in the epoch of that checkpoint: everything flows again."""
        self._barriers.clear()
        self._gate.blocked.clear()
        self._ignored = {one for one in self._ignored if one > checkpoint}

    def _unblock(self, i: int) -> None:
        del self._barriers[i]
        self._gate.blocked.discard(i)


class Snapshots:
    """Taken by the main thread, complete when every output thread has cut its barrier and knows its next buffer."""

    def __init__(self, complete: Callable[[int, State], None]):
        self._complete = complete
        self._open: dict[int, tuple[State, set[int]]] = {}

    def taken(self, checkpoint: int, state: State, outputs: int) -> None:
        """`outputs` in the state are filled in as the barriers are cut."""
        self._open[checkpoint] = (state, set(range(outputs)))
        self._close(checkpoint)

    def cut(self, checkpoint: int, k: int, channel: str, next_seq: int) -> None:
        """Output `k` cut the barrier."""
        state, missing = self._open[checkpoint]
        state["outputs"][channel] = next_seq
        missing.discard(k)
        self._close(checkpoint)

    def _close(self, checkpoint: int) -> None:
        state, missing = self._open[checkpoint]
        if not missing:
            del self._open[checkpoint]
            self._complete(checkpoint, state)
