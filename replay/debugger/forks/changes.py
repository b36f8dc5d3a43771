"""The changes that a fork can begin with, as people write them (JSON) and as they are meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from replay.errors import WrongSetting, printable
from replay.model import json_bytes


@dataclass(frozen=True, slots=True)
class OtherOrder:
    """The delivery that this step is, and a later one of the same epoch from another input, in each other's place.

    `with_offset`: where the other order determinant stands; None is the next that names another input.
    """

    with_offset: int | None = None


@dataclass(frozen=True, slots=True)
class OtherValue:
    """The clock, the random generator or the outside world had said something else."""

    value: Any


@dataclass(frozen=True, slots=True)
class LostDeterminant:
    """This determinant had reached nobody, nor had any that the task appended after it."""

    seed: int = 0


@dataclass(frozen=True, slots=True)
class LostHolder:
    """That task had failed too, before it could answer."""

    holder: str
    seed: int = 0


@dataclass(frozen=True, slots=True)
class OtherDepth:
    """The job had run at another sharing depth; None is full."""

    depth: int | None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class SecondFailure:
    """That task fails at this moment too."""

    task: str
    seed: int = 0


@dataclass(frozen=True, slots=True)
class OtherOperator:
    """From the next record on, another operator takes this one's place, and its state."""

    operator: str


Change = OtherOrder | OtherValue | LostDeterminant | LostHolder | OtherDepth | SecondFailure | OtherOperator
OfLogs = OtherOrder | OtherValue | LostDeterminant
OfAnswers = LostHolder | OtherDepth | SecondFailure


class At(NamedTuple):
    """A change and the step at which it is made, as the replay that is forked numbers its steps."""

    step: int
    change: Change


def chain_of(listed: Sequence[Mapping[str, Any]]) -> tuple[At, ...]:
    """From JSON: `[{"step": 5, "change": {…}}]`, as a replay that is a fork keeps those before it."""
    return tuple(At(_whole(one, "step"), change_of(one.get("change"))) for one in listed)


MOST_CHANGES = 8
"""So many forks can stand one on another: each takes as long as all of those before it."""

NAMES: dict[str, type[Change]] = {
    "order": OtherOrder,
    "value": OtherValue,
    "lost": LostDeterminant,
    "holder": LostHolder,
    "depth": OtherDepth,
    "failure": SecondFailure,
    "operator": OtherOperator,
}
"""What `change` says in JSON."""

_KINDS = {kind: name for name, kind in NAMES.items()}
_LARGEST_JSON = 1 << 20


def change_of(fields: object) -> Change:
    """From JSON: `{"change": "value", "value": 5}`. What can't be meant raises `WrongSetting`."""
    if not isinstance(fields, Mapping):
        raise WrongSetting("a change is a JSON object", remedy='Write it as {"change": "lost"}')
    name = fields.get("change")
    if not isinstance(name, str) or name not in NAMES:
        raise WrongSetting(
            f"there is no change {printable(str(name))!r}", remedy=f"A fork's change is one of {', '.join(NAMES)}"
        )
    found = _READERS[name](fields)
    unknown = sorted(set(map(str, fields)) - {"change", *_allowed(name)})
    if unknown:
        raise WrongSetting(
            f"the change {name} has no field {printable(unknown[0])!r}",
            remedy=f"Its fields are: {', '.join(_allowed(name)) or 'none'}",
        )
    return found


def change_to_json(change: Change) -> dict[str, Any]:
    """The inverse of `change_of`."""
    fields: dict[str, Any] = {"change": _KINDS[type(change)]}
    match change:
        case OtherOrder(with_offset):
            return fields if with_offset is None else fields | {"with": with_offset}
        case OtherValue(value):
            return fields | {"value": value}
        case LostHolder(holder, seed):
            return fields | {"holder": holder} | _seed(seed)
        case OtherDepth(depth, seed):
            return fields | {"depth": "full" if depth is None else depth} | _seed(seed)
        case SecondFailure(task, seed):
            return fields | {"task": task} | _seed(seed)
        case LostDeterminant(seed):
            return fields | _seed(seed)
        case OtherOperator(operator):
            return fields | {"operator": operator}


def _seed(seed: int) -> dict[str, Any]:
    return {"seed": seed} if seed else {}


def _allowed(name: str) -> tuple[str, ...]:
    return {
        "order": ("with",),
        "value": ("value",),
        "lost": ("seed",),
        "holder": ("holder", "seed"),
        "depth": ("depth", "seed"),
        "failure": ("task", "seed"),
        "operator": ("operator",),
    }[name]


# --- fields ---


def _whole(fields: Mapping[str, Any], key: str, default: int | None = None) -> int:
    value = fields.get(key, default)
    if type(value) is not int or not 0 <= value < 1 << 63:
        raise WrongSetting(f"the field {key} of a change is a whole number from 0 on", remedy=f"Give {key} as a number")
    return value


def _name(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not value:
        raise WrongSetting(f"the change {fields['change']} names its {key}", remedy=f"Give {key} as a text")
    return value


def _value(fields: Mapping[str, Any]) -> OtherValue:
    if "value" not in fields:
        raise WrongSetting("the change value says what the value is instead", remedy="Give value")
    try:
        size = len(json_bytes(fields["value"]))
    except (ValueError, RecursionError, UnicodeEncodeError):
        raise WrongSetting(
            "the value of a change is no JSON", remedy="Give a number, a text, a list or an object"
        ) from None
    if size > _LARGEST_JSON:
        raise WrongSetting(f"the value of a change has {size} bytes", remedy=f"It may have {_LARGEST_JSON}")
    return OtherValue(fields["value"])


def _depth(fields: Mapping[str, Any]) -> OtherDepth:
    depth = None if fields.get("depth") == "full" else _whole(fields, "depth")
    if depth is not None and depth >= 1 << 31:
        raise WrongSetting(f"no graph is {depth} tasks deep", remedy="Give a sharing depth as in job.json, or full")
    return OtherDepth(depth, _whole(fields, "seed", 0))


_READERS: dict[str, Callable[[Mapping[str, Any]], Change]] = {
    "order": lambda fields: OtherOrder(_whole(fields, "with") if fields.get("with") is not None else None),
    "value": _value,
    "lost": lambda fields: LostDeterminant(_whole(fields, "seed", 0)),
    "holder": lambda fields: LostHolder(_name(fields, "holder"), _whole(fields, "seed", 0)),
    "depth": _depth,
    "failure": lambda fields: SecondFailure(_name(fields, "task"), _whole(fields, "seed", 0)),
    "operator": lambda fields: OtherOperator(_name(fields, "operator")),
}
