"""The forms of the steps that come with every record and every determinant, made once for a task."""

from __future__ import annotations

from replay.debugger.ports import StepForm
from replay.debugger.writing import flow_words
from replay.debugger.writing.sentences import Sentence
from replay.debugger.writing.words import CLOCK_READ
from replay.model import MAIN, ChannelId, Task

_TAKEN = "{} says that {}: determinant {:,} of epoch {:d}."
_APPENDED = "{}: {} at offset {:,} of the main log, epoch {:d}."


class SteppingForms:
    """`delivers` by input, `writes` by output; what is taken from the main log, and appended to it."""

    def __init__(self, shape: Task, sink: str) -> None:
        self._task = shape.id
        delivered = flow_words.DELIVERED
        self.delivers = [self._of("deliver-record", delivered, channel=one) for one in shape.inputs]
        self.delivers_from_source = self._of("deliver-record", flow_words.DELIVERED_BY_SOURCE)
        self.writes = [
            self._of("write-record", flow_words.written(k, one.channel), channel=one.channel)
            for k, one in enumerate(shape.outputs)
        ]
        self.gives = self._of("write-record", flow_words.given(sink, held_back=False))
        self.holds_back_write = self._of("write-record", flow_words.given(sink, held_back=True))
        self.takes = self._of("take-determinant", Sentence(_TAKEN), log=MAIN)
        self.takes_time = self._of(
            "take-determinant", Sentence(_TAKEN.replace("that {}", f"that {CLOCK_READ}")), log=MAIN
        )
        self.fires = self._of("fire-async", Sentence(_TAKEN), log=MAIN)
        self.appends = self._of("append", Sentence(_APPENDED), log=MAIN)

    def _of(self, kind: str, sentence: Sentence, log: str | None = None, channel: ChannelId | None = None) -> StepForm:
        return StepForm(self._task, MAIN, kind, log, channel, sentence)
