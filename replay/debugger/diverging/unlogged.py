"""Which calls of an operator reach outside of what is logged, while an execution is looked at for a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from replay.debugger.diverging.source_line import SourceLine, line_of
from replay.debugger.hunting.hearing import Heard, Hearing, own_modules
from replay.runtime.operators import Operator
from replay.runtime.operators.surrounded import Surrounded

T = TypeVar("T")

_MOST_CALLS = 1000


@dataclass(frozen=True, slots=True)
class OutsideCall:
    """What was called, and from which line of the operator."""

    kind: str
    called: str
    line: SourceLine

    def __str__(self) -> str:
        return f"{self.called}() in {self.line.file}:{self.line.line}"


@dataclass(slots=True)
class OutsideCalls:
    """Each line and callee is kept once, the latest last."""

    found: dict[tuple[str, str, int], OutsideCall] = field(default_factory=dict)

    def around(self, kind: type[Operator], make: Callable[[], Operator]) -> Operator:
        """An operator of that class, listened to from when it is made."""
        modules = own_modules(kind)
        hearing = Hearing(lambda: modules, self._keep)
        with hearing.listening():
            made = make()
        return _ListenedTo(made, hearing)

    def _keep(self, heard: Heard) -> None:
        code = heard.frame.f_code
        key = heard.call.name, code.co_filename, heard.line
        if key not in self.found and len(self.found) >= _MOST_CALLS:
            return
        self.found.pop(key, None)
        line = line_of(code, heard.line, heard.frame.f_globals)
        self.found[key] = OutsideCall(heard.call.kind, heard.call.name, line)

    def of(self, *kinds: str) -> list[OutsideCall]:
        """The calls of these kinds, the latest first."""
        return [one for one in reversed(self.found.values()) if one.kind in kinds]


class _ListenedTo(Surrounded):
    """As the operator; what it calls past its context is heard."""

    def __init__(self, operator: Operator, hearing: Hearing):
        super().__init__(operator)
        self._hearing = hearing

    def called(self, method: str, action: Callable[[], T]) -> T:
        """Listens while it is at work."""
        with self._hearing.listening():
            return action()
