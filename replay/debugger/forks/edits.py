"""A changed log: another order, another value; and in words what of it was lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from replay.debugger.forks.changes import LostDeterminant, OfLogs, OtherOrder, OtherValue
from replay.debugger.forks.places import ForkPlace
from replay.debugger.recorded.logs import Logs
from replay.debugger.writing.words import said
from replay.errors import InvariantError, WrongSetting
from replay.log.codec import decode_all, encode
from replay.log.determinants import Determinant, Order, Rng, Serializable, Timestamp
from replay.model import MAIN, json_bytes
from replay.services.external import call_fields

_CALL = 3


def edited(logs: Logs, place: ForkPlace, change: OfLogs) -> tuple[Logs, str]:
    """The logs as they are in the fork, and the change in words. Raises `WrongSetting` where it does not apply."""
    data = logs.get(place.thread, {}).get(place.epoch, b"")
    listed = [(offset, one) for offset, _, one in decode_all(data)]
    number = next((n for n, (offset, _) in enumerate(listed) if offset == place.offset), None)
    if number is None:
        raise WrongSetting(
            f"step {place.step} takes no determinant, so there is none to change",
            remedy="Fork at a step that takes a determinant from the log",
        )
    match change:
        case LostDeterminant():
            return logs, _lost_words(place, listed[number][1])  # it is there until then
        case OtherOrder(with_offset):
            changed, words = _swapped(listed, number, with_offset)
        case OtherValue(value):
            determinant, words = with_value(listed[number][1], value)
            changed = [*listed[:number], (0, determinant), *listed[number + 1 :]]
    again = b"".join(_encoded(one) for _, one in changed)
    return {**logs, place.thread: {**logs[place.thread], place.epoch: again}}, words


def _swapped(
    listed: list[tuple[int, Determinant]], number: int, with_offset: int | None
) -> tuple[list[tuple[int, Determinant]], str]:
    this = listed[number][1]
    if not isinstance(this, Order):
        raise WrongSetting(
            f"the step takes a {this.kind} determinant, which orders nothing",
            remedy="Fork at a step whose determinant says which input the next buffer came from",
        )
    for n, (offset, other) in enumerate(listed):
        if n <= number or not isinstance(other, Order) or with_offset not in (None, offset):
            continue
        if other.channel != this.channel:
            changed = list(listed)
            changed[number], changed[n] = (0, other), (0, this)
            return changed, (
                f"the next buffer comes from channel {other.channel} and not {this.channel}, and the one at offset "
                f"{offset} from channel {this.channel} instead"
            )
    raise WrongSetting(
        "no later delivery of the epoch from another input can take this one's place",
        remedy="Fork at an earlier delivery, or leave out with, so that the next from another input is taken",
    )


def with_value(this: Determinant, value: Any) -> tuple[Determinant, str]:
    """The determinant that says that instead, and the change in words."""
    changed: Determinant
    match this:
        case Timestamp():
            changed = Timestamp(_number(value, "the clock"))
        case Rng():
            changed = Rng(_number(value, "the random generator", 1 << 31))
        case Serializable():
            changed = _with_answer(this, value)
        case _:
            raise WrongSetting(
                f"the step takes a {this.kind} determinant, which has no value to change",
                remedy="Fork at a step that takes a time, a random number or an answer from outside",
            )
    if changed == this:
        raise WrongSetting("the value is the same as before", remedy="Give another one")
    return changed, f"{said(changed)}, and not as before: {said(this)}"


def _number(value: Any, what: str, limit: int = 1 << 63) -> int:
    if type(value) is not int or not -limit <= value < limit:
        raise WrongSetting(f"{what} gives whole numbers from {-limit} up to {limit - 1}", remedy="Give value as one")
    return value


def _with_answer(this: Serializable, value: Any) -> Serializable:
    """Of a call, what it gives, or with `{"raised": {"type", "message"}}` what it raises; else its content."""
    fields = call_fields(this)
    if fields is None:
        if this.content_type not in (1, 2):
            raise WrongSetting(
                "this payload is no JSON and no text, so it can't be given anew", remedy="Lose it instead"
            )
        return Serializable.of(this.content_type, json_bytes(value) if this.content_type == 1 else str(value).encode())
    raised = value.get("raised") if isinstance(value, Mapping) and len(value) == 1 else None
    kept = {key: one for key, one in fields.items() if key not in ("value", "raised")}
    if isinstance(raised, Mapping) and all(isinstance(raised.get(one), str) for one in ("type", "message")):
        return Serializable.of(_CALL, json_bytes({**kept, "raised": dict(raised)}))
    return Serializable.of(_CALL, json_bytes({**kept, "value": value}))


def _encoded(one: Determinant) -> bytes:
    try:
        return encode(one)
    except InvariantError as fault:
        raise WrongSetting(f"the value can't be logged: {fault}", remedy="Give a smaller one") from None


def _lost_words(place: ForkPlace, this: Determinant) -> str:
    whose = "the main log" if place.thread == MAIN else f"the log of {place.thread}"
    return (
        f"nobody holds {whose} from offset {place.offset} of epoch {place.epoch} on, where it says that {said(this)}; "
        f"nor anything that was logged after it"
    )


def with_operator(vertex: Any, operator: str) -> Any:
    """The vertex, with another operator."""
    return replace(vertex, operator=operator)
