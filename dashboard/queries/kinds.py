"""Kinds of determinants and of steps, as pages tell them: letter, shape, name. The one place that knows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    letter: str
    # round: may come between any two records; cut: logged by output threads; square: logged in the main thread's order.
    shape: str
    colour: str
    plural: str
    meaning: str


def _determinant(name: str, letter: str, shape: str, plural: str, meaning: str) -> Kind:
    return Kind(name, letter, shape, name, plural, meaning)


DETERMINANTS: tuple[Kind, ...] = (
    _determinant("order", "O", "square", "order", "which input channel the next buffer came from"),
    _determinant("timestamp", "T", "square", "clock", "what the wall clock said"),
    _determinant("rng", "R", "square", "random", "what the random generator gave"),
    _determinant("serializable", "C", "square", "calls", "what an external call returned"),
    _determinant("take", "K", "square", "takes", "how many records were taken from which input"),
    _determinant("timer-trigger", "W", "round", "timers", "at which record a timer fired"),
    _determinant("source-checkpoint", "S", "round", "checkpoints", "at which record a source began a checkpoint"),
    _determinant("ignore-checkpoint", "I", "round", "ignored", "at which record a checkpoint was given up"),
    _determinant("buffer-built", "B", "cut", "buffers", "at which size an output buffer was cut"),
)

STEPS: tuple[Kind, ...] = (
    Kind("transition", "T", "round", "step-recovery", "transitions", "the recovery manager enters a state"),
    Kind("request", "Q", "round", "step-recovery", "requests", "the task asks for buffers or determinants"),
    Kind("answer", "A", "round", "step-recovery", "answers", "a holder answers with what it has"),
    Kind("merge", "M", "round", "step-recovery", "merges", "copies of one log are merged"),
    Kind("restore", "R", "round", "step-state", "restores", "the state of a checkpoint is restored"),
    Kind("take-buffer", "B", "square", "step-input", "buffers taken", "the next buffer is taken from an input"),
    Kind(
        "deliver-record",
        "D",
        "square",
        "step-input",
        "records",
        "a record, a watermark or a timer reaches the operator",
    ),
    Kind("take-determinant", "L", "square", "step-determinant", "log reads", "a determinant is taken from the log"),
    Kind("fire-async", "F", "square", "step-determinant", "fired", "a timer or checkpoint fires where the log says"),
    Kind("append", "P", "square", "step-determinant", "appends", "a determinant is appended anew"),
    Kind("write-record", "W", "cut", "step-output", "records written", "a record is written to an output"),
    Kind("cut-buffer", "C", "cut", "step-output", "buffers cut", "an output buffer is cut at the logged size"),
    Kind("hold-back", "H", "cut", "step-output", "held back", "a buffer that the receiver has is not sent again"),
    Kind("send-buffer", "S", "cut", "step-output", "sent", "a buffer is sent"),
    Kind("snapshot", "N", "round", "step-state", "snapshots", "the state is written for a checkpoint"),
    Kind("finish", "E", "round", "step-finish", "end", "the replay is over"),
    Kind("diverge", "X", "round", "step-diverge", "divergence", "the replay and the recording differ"),
    Kind(
        "fork", "Y", "round", "step-finish", "forks", "what a fork changes, and where the log no longer applies to it"
    ),
)

_BY_NAME = {"determinant": {kind.name: kind for kind in DETERMINANTS}, "step": {kind.name: kind for kind in STEPS}}


def determinant_kind(name: str) -> Kind:
    return _BY_NAME["determinant"].get(name) or Kind(
        name, "?", "square", "other", name, "a kind this page does not know"
    )


def step_kind(name: str) -> Kind:
    return _BY_NAME["step"].get(name) or Kind(
        name, name[:1].upper() or "?", "square", "step-state", name, "a step of this protocol"
    )


def for_script(kinds: tuple[Kind, ...]) -> list[dict[str, Any]]:
    """The same for the page's modules, which read it from a JSON element."""
    return [asdict(kind) for kind in kinds]
