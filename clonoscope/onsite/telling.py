"""A replay's steps as it goes: what was taken, asked and given, each with what it follows from."""

from __future__ import annotations

from typing import Any

from clonoscope.onsite.application import Application
from clonoscope.onsite.held import Held
from clonoscope.onsite.records import Fed
from clonoscope.sites import Site
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import Change, StepSink
from replay.debugger.writing.state_keys import flat
from replay.debugger.writing.steps import StepWriter
from replay.debugger.writing.words import counted, said, shortened
from replay.log.codec import encode
from replay.log.determinants import Determinant, Take
from replay.model import MAIN, json_bytes

_STATE_BYTES = 1 << 20


class Telling:
    """Writes through the port that every replay's steps go through."""

    def __init__(self, held: Held, sink: StepSink):
        self._held = held
        self.steps = StepWriter(sink, held.task, state="Running", t_us=held.start_us)
        self._offsets: dict[int, list[int]] = {}
        self._state: dict[str, str] = {}
        self._too_large = False
        self._since: list[int] = []
        self._record: int | None = None
        self._take: int | None = None

    def begin(self, application: Application, state: Any) -> None:
        """The attempt begins, with what it restored."""
        first = self._held.epochs[0]
        self.steps.epoch = first
        restored = "without a state" if state is None else f"with the state of checkpoint {first}"
        step = self.steps.write(
            "restore",
            f"Attempt {self._held.attempt} of {self._held.task} begins at epoch {first}, {restored}; its function is "
            f"{application.name}.",
            causes=self._held.started,
        )
        self._since = [step]

    def epoch(self, number: int) -> None:
        """Its records are counted from here on."""
        self.steps.epoch, self.steps.record_count = number, 0
        offsets = [offset for offset, _, _ in self._held.bundle.determinants(*self._log, number)]
        self._offsets = {number: offsets}

    @property
    def _log(self) -> tuple[str, int, str]:
        return self._held.task, self._held.attempt, MAIN

    def took(self, epoch: int, number: int, determinant: Determinant, site: Site | None) -> None:
        """An entry of the log was used."""
        asked = "" if site is None else f"{site.place} asks. "
        step = self.steps.write(
            "take-determinant",
            f"{asked}The log says that {said(determinant)}.",
            causes=(
                f"det:{self._held.task}/{self._held.attempt}/{MAIN}/{epoch}#{number}",
                *((f"step:{self._record}",) if site is not None and self._record is not None else ()),
            ),
            log=MAIN,
            log_offset=self._offsets[epoch][number],
            size=len(encode(determinant)),
        )
        self.steps.took(step, determinant)
        if isinstance(determinant, Take):
            self._take = step
        else:
            self._since.append(step)

    def record(self, fed: Fed) -> None:
        """A record reaches the function."""
        self.steps.t_us = max(self.steps.t_us, fed.t_us)
        self.steps.record_count += 1
        step = self.steps.write(
            "deliver-record",
            f"Record {fed.place} is given to the function: {_shown(fed.record)}.",
            causes=() if self._take is None else (f"step:{self._take}",),
        )
        self._record, self._since = step, [step]

    def output(self, record: Any, *, is_held: bool) -> None:
        """The function gave something."""
        self.steps.write(
            "write-record",
            f"Gives {_shown(record)}{', as recorded' if is_held else ', which is past the end of the recording'}.",
            causes=tuple(f"step:{one}" for one in self._since),
        )

    def state(self, found: Any) -> None:
        """What changed in the operator's state with the record; one that is large is told of at ends of epochs only."""
        if isinstance(found, dict) and not self._too_large:
            self._changes(self.steps.count - 1, found)

    def snapshot(self, checkpoint: int, found: Any) -> None:
        """The epoch is over."""
        text = f"Epoch {checkpoint - 1} ends"
        keys = f", with {counted(len(found), 'key')} of state" if isinstance(found, dict) else ""
        step = self.steps.write("snapshot", f"{text}{keys}.", causes=tuple(f"step:{one}" for one in self._since))
        if isinstance(found, dict):
            self._changes(step, found)

    def _changes(self, step: int, found: dict[str, Any]) -> None:
        after = flat(found)
        before = self._state
        changes: list[Change] = [
            (key, before.get(key), value) for key, value in after.items() if before.get(key) != value
        ]
        changes += [(key, before[key], None) for key in sorted(before.keys() - after.keys())]
        if changes:
            self.steps.changed(step, changes)
        self._state = after
        self._too_large = sum(map(len, after.values())) > _STATE_BYTES

    def parted(self, found: DivergenceFound) -> int:
        """The replay and the recording differ."""
        offset = found.detail.get("offset")
        return self.steps.write(
            "diverge",
            found.sentence,
            causes=tuple(f"step:{one}" for one in self._since),
            log=MAIN if isinstance(offset, int) else None,
            log_offset=offset if isinstance(offset, int) else None,
        )

    def finish(self, sentence: str) -> None:
        """It is over."""
        last = self.steps.latest
        self.steps.write("finish", sentence, causes=() if last is None else (f"step:{last}",))
        self.steps.sink.flush()

    def offset(self, epoch: int, number: int) -> int | None:
        """Where an entry of the epoch that is replayed stands."""
        known = self._offsets.get(epoch, [])
        return known[number] if number < len(known) else None


def _shown(record: Any) -> str:
    try:
        return shortened(json_bytes(record).decode())
    except (TypeError, ValueError, RecursionError):
        return shortened(repr(record))
