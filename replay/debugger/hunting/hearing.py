"""Hears the calls that are made while an operator is at work, and tells those that it made past its context.

The interpreter tells of every call, however its name was imported; files and sockets are told by its audit events. A
call is the operator's if its code is nearer on the stack than the engine's, and is put down to the operator's line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Literal

from replay.debugger.diverging.source_line import collectors, source_name
from replay.debugger.hunting.calls import Call, Calls, audited
from replay.debugger.hunting.draws import Draws
from replay.errors import printable

Role = Literal["operator", "engine", "library"]

_ENGINE = ("replay", "ingest", "dashboard")
_SAMPLES = ("replay.jobs.", "replay.runtime.operators.")
_AROUND = ("replay.runtime.operators.surrounded", "replay.jobs.installed", "replay.jobs.registry")
# What a library reads for its own messages comes into no record.
_QUIET = ("logging", "warnings", "traceback", "linecache")
# What a library asks a clock for while it waits decides nothing but how long.
_WAITING = ("threading", "queue", "selectors", "subprocess", "concurrent.futures._base", "concurrent.futures.thread")
# What importing a module reads is the module's, and the same in every execution.
_IMPORTING = ("_find_and_load", "_gcd_import")


@dataclass(frozen=True, slots=True)
class Heard:
    """`frame` is the operator's, `line` the one that asked; `through` the library's line that called on its behalf."""

    call: Call
    frame: FrameType
    line: int
    through: str = ""
    detail: str = ""


class Hearing:
    """Tells `hears` of each call, while `listening`. `modules` are those that the operator's classes stand in."""

    def __init__(self, modules: Callable[[], frozenset[str]], hears: Callable[[Heard], None]):
        self._modules = modules
        self._hears = hears
        self._calls = Calls()
        self._draws = Draws(self._is_operators_frame, self._drew)
        self._roles: dict[CodeType, Role] = {}
        self._on = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """While the operator is at work, in its threads too; what was there before is there again afterwards."""
        before, before_in_threads, outer = sys.getprofile(), _profile_in_threads(), _hear_audits_for(self)
        self._on = True
        _profile_threads(self._heard)
        sys.setprofile(self._heard)
        try:
            with self._draws.watched():
                yield
        finally:
            sys.setprofile(before)
            _profile_threads(before_in_threads)
            self._on = False
            _listener[:] = outer

    # --- what is heard ---

    def _heard(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            known = self._calls.built_in(frame, argument)
            if known is not None and not (known.direct and not self._is_asked_by_operator(frame)):
                self._tell(known, frame, printable(known.detail))
        elif event == "call":
            known = self._calls.in_python(frame)
            caller = frame.f_back
            if known is None or caller is None or (known.direct and not self._is_asked_by_operator(caller)):
                return
            key = frame.f_locals.get("key") if known.kind == "environment" else None
            self._tell(known, caller, "" if key is None else printable(str(key)))

    def _is_asked_by_operator(self, frame: FrameType) -> bool:
        """In its own text, where the answer may come into something: what a dictionary asks for does not."""
        code = frame.f_code
        return self._is_operators_frame(frame) and code.co_name != "__hash__" and not code.co_filename.startswith("<")

    def audited(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Files, sockets, processes and threads are told of by the interpreter itself."""
        found = audited(event, arguments) if self._on else None
        if found is None:
            return
        caller = sys._getframe(1).f_back
        if caller is None:  # the interpreter itself opens the program that it is started with
            return
        self._on = False  # what is done here is nobody's reading
        try:
            self._tell(Call(found[0], event), caller, printable(found[1]))
        finally:
            self._on = True

    def _drew(self, frame: FrameType, line: int) -> None:
        self._hears(Heard(Call("random", "numpy.random"), frame, line))

    # --- whose it is ---

    def _tell(self, call: Call, caller: FrameType, detail: str = "") -> None:
        if call.kind == "clock" and caller.f_globals.get("__name__") in _WAITING:
            return
        line: FrameType | None = caller
        collecting = collectors()
        while line is not None:
            if line.f_code in collecting:
                return  # garbage was collected just then
            role = self._role(line)
            # Code that was generated for the operator has no line of its own: whoever called it has.
            if role == "operator" and not line.f_code.co_filename.startswith("<"):
                break
            if role == "engine" or ((other := self._calls.function(line)) is not None and not other.direct):
                return  # the engine's own; or a part of another call, which is told
            line = line.f_back
        if line is None:
            return
        file = caller.f_code.co_filename
        through = "" if line is caller or file.startswith("<") else f"{source_name(file)}:{caller.f_lineno}"
        self._hears(Heard(call, line, line.f_lineno, through, detail))

    def _is_operators_frame(self, frame: FrameType) -> bool:
        return self._role(frame) == "operator"

    def _role(self, frame: FrameType) -> Role:
        code = frame.f_code
        found = self._roles.get(code)
        if found is None:
            found = self._roles[code] = self._role_of(code, str(frame.f_globals.get("__name__", "")))
        return found

    def _role_of(self, code: CodeType, module: str) -> Role:
        if code.co_filename.startswith("<frozen importlib"):
            return "engine" if code.co_name in _IMPORTING else "library"
        if is_operators(module, self._modules()):
            return "operator"
        return "engine" if module.partition(".")[0] in (*_ENGINE, *_QUIET) else "library"


def is_operators(module: str, modules: frozenset[str]) -> bool:
    """Whether a module is an operator's: its class stands there, or in another module of the same package; what finds,
    makes and surrounds operators is none of theirs."""
    if module in _AROUND:
        return False
    for one in modules:
        package = one.partition(".")[0]
        if module == one or (package not in _ENGINE and module.partition(".")[0] == package):
            return True
        if one.startswith(_SAMPLES) and module.startswith(_SAMPLES):
            return True
    return False


def own_modules(operator: type) -> frozenset[str]:
    """The modules that an operator's class, and those it derives from, stand in."""
    standard = sys.stdlib_module_names
    return frozenset(one.__module__ for one in operator.__mro__ if one.__module__.partition(".")[0] not in standard)


@contextmanager
def deaf() -> Iterator[None]:
    """While the engine executes an operator for a reason of its own: nobody who listens around it hears of that."""
    profile, trace, outer = sys.getprofile(), sys.gettrace(), list(_listener)
    sys.setprofile(None)
    sys.settrace(None)
    _listener.clear()
    try:
        yield
    finally:
        _listener[:] = outer
        sys.settrace(trace)
        sys.setprofile(profile)


def _profile_threads(profile: Any) -> None:
    """Of those that are started from now on; nobody can, where the module isn't there."""
    if "threading" in sys.modules:
        vars(sys.modules["threading"])["setprofile"](profile)


def _profile_in_threads() -> Any:
    return vars(sys.modules["threading"])["getprofile"]() if "threading" in sys.modules else None


# An audit hook stays until the process ends: there is one, and it listens for whoever listens now.
_listener: list[Hearing] = []
_hooked: list[bool] = []


def _hear_audits_for(hearing: Hearing) -> list[Hearing]:
    before = list(_listener)
    _listener[:] = [hearing]
    if not _hooked:
        _hooked.append(True)
        sys.addaudithook(_heard_event)
    return before


def _heard_event(event: str, arguments: tuple[Any, ...]) -> None:
    for one in _listener:
        one.audited(event, arguments)
