"""Calls to the outside world as a causal service: what was answered, or raised, is a determinant."""

from __future__ import annotations

from typing import Any

from replay.errors import InvariantError
from replay.log.determinants import Serializable
from replay.model import json_bytes, read_json
from replay.services.choices import Choices, Wall

EFFECTS = ("read", "write")
_CALL = 3  # the content type of a call


class ExternalFault(Exception):
    """An external call raised. It is logged as a value would be, so the replay raises the same again."""

    def __init__(self, kind: str, message: str):
        super().__init__(f"{kind}: {message}")
        self.type = kind
        self.message = message


class ExternalCalls:
    """Asks the outside once; a replay gets the logged answer. Past the log's end a call may happen a second time."""

    def __init__(self, choices: Choices, wall: Wall):
        self._choices = choices
        self._wall = wall

    def ask(self, call: str, request: Any, effect: str) -> Any:
        """JSON in, JSON out; raises `ExternalFault` where the outside does, or did."""
        if effect not in EFFECTS:
            raise InvariantError(f"an external call's effect is one of {', '.join(EFFECTS)}, not {effect!r}")
        logged = self._choices.sync(
            Serializable, lambda: self._asked(call, request, effect), lambda one: _unlike(one, call, effect)
        )
        return _answer(call_fields(logged) or {})

    def _asked(self, call: str, request: Any, effect: str) -> Serializable:
        fields: dict[str, Any] = {"call": "external", "name": call, "effect": effect}
        try:
            fields["value"] = self._wall.external(call, request, effect)
        except ExternalFault as fault:
            fields["raised"] = {"type": fault.type, "message": fault.message}
        return Serializable.of(_CALL, json_bytes(fields))


def _answer(fields: dict[str, Any]) -> Any:
    if "raised" in fields:
        raise ExternalFault(fields["raised"]["type"], fields["raised"]["message"])
    return fields.get("value")


def call_fields(logged: Serializable) -> dict[str, Any] | None:
    """What was logged of a call; None where it is something else."""
    if logged.content_type != _CALL:
        return None
    try:
        fields = read_json(logged.content)
    except ValueError:
        return None
    return fields if isinstance(fields, dict) else None


def _unlike(logged: Serializable, call: str, effect: str) -> str | None:
    fields = call_fields(logged)
    asked = f"the external call {call!r} with effect {effect}"
    if fields is None or (fields.get("call"), fields.get("name"), fields.get("effect")) != ("external", call, effect):
        return asked
    raised = fields.get("raised")
    if raised is None:
        return None if "value" in fields else f"{asked} and its answer"
    whole = isinstance(raised, dict) and all(isinstance(raised.get(one), str) for one in ("type", "message"))
    return None if whole else f"{asked} and what it raised"
