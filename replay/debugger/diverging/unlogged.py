"""Which calls of an operator reach outside of what is logged, while an execution is looked at for a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from replay.debugger.diverging.source_line import SourceLine, line_of
from replay.debugger.hunting.hearing import Heard, Hearing, own_modules
from replay.runtime.operators import Context, Operator
from replay.runtime.operators.surrounded import Surrounded

T = TypeVar("T")

_MOST_CALLS = 1000
_MOST_ELEMENTS = 1000
_BEFORE_ALL = -1
_AGREED_OFTEN = 3
"""Elements during which something was read, and which came out as recorded: what is read is then not what differs."""


@dataclass(slots=True)
class OutsideCall:
    """What was called, and from which line of the operator.

    `after`: how many elements had been processed before those during which it was called, up to the most that are
    kept; -1 is before the first.
    """

    kind: str
    called: str
    line: SourceLine
    after: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.called}() in {self.line.file}:{self.line.line}"

    def explains(self, after: int) -> bool:
        """Whether what differs in that element may follow from it: not where it was called often and all agreed."""
        agreed = sum(one < after for one in self.after if one >= 0)
        return agreed < _AGREED_OFTEN


@dataclass(slots=True)
class OutsideCalls:
    """Each line and callee is kept once."""

    found: dict[tuple[str, str, int], OutsideCall] = field(default_factory=dict)
    after: int = _BEFORE_ALL

    def around(self, kind: type[Operator], make: Callable[[], Operator]) -> Operator:
        """An operator of that class, listened to from when it is made."""
        modules = own_modules(kind)
        hearing = Hearing(lambda: modules, self._keep)
        with hearing.listening():
            made = make()
        return _ListenedTo(made, hearing, self)

    def _keep(self, heard: Heard) -> None:
        code = heard.frame.f_code
        key = heard.call.name, code.co_filename, heard.line
        if key not in self.found:
            if len(self.found) >= _MOST_CALLS:
                return
            line = line_of(code, heard.line, heard.frame.f_globals)
            self.found[key] = OutsideCall(heard.call.kind, heard.call.name, line)
        after = self.found[key].after
        if not after or after[-1] != self.after:
            after.append(self.after)
            del after[1:-_MOST_ELEMENTS]

    def suspects(self, after: int) -> list[OutsideCall]:
        """Those from which it may follow what differs in that element: called during it, else those before it."""
        possible = [one for one in self.found.values() if one.explains(after) and one.after[0] <= after]
        return [one for one in possible if after in one.after] or possible

    def during(self, after: int) -> list[OutsideCall]:
        """All that were called during that element, else all before it."""
        return [one for one in self.found.values() if after in one.after] or list(self.found.values())


class _ListenedTo(Surrounded):
    """As the operator; what it calls past its context is heard."""

    def __init__(self, operator: Operator, hearing: Hearing, calls: OutsideCalls):
        super().__init__(operator)
        self._hearing = hearing
        self._calls = calls
        self._context: Any = None

    def open(self, context: Context) -> None:
        """As the operator."""
        self._context = context
        super().open(context)

    def called(self, method: str, action: Callable[[], T]) -> T:
        """Listens while it is at work."""
        self._calls.after = _BEFORE_ALL if method in ("open", "restore") else self._context.processed
        with self._hearing.listening():
            return action()
