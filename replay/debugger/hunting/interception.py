"""Listens to the calls that are made while an operator is at work, and tells those that it made past its context.

The interpreter tells of every call, however its name was imported; files and sockets are told by its audit events. A
call is the operator's if its code is nearer on the stack than the engine's, and is put down to the operator's line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from random import Random
from types import CodeType, FrameType
from typing import Any, Literal
from weakref import WeakKeyDictionary

from replay.debugger.diverging.source_line import collectors
from replay.debugger.hunting.readings import Moment, Readings, source_name
from replay.errors import printable

Role = Literal["operator", "engine", "library"]
RealCall = tuple[str, str, Any]
"""(kind, name, function), as `replay.live` lists them."""

_ENGINE = ("replay", "ingest", "dashboard")
_SAMPLES = ("replay.jobs.", "replay.runtime.operators.")
# What a library reads for its own messages comes into no record.
_QUIET = ("logging", "warnings", "traceback", "linecache")
# Asked with so many arguments these answer from what they are given.
_ANSWERED_BY_ARGUMENTS = {"time.localtime": 1, "time.gmtime": 1, "time.ctime": 1, "time.strftime": 2, "time.asctime": 1}
_DRAWS = ("random", "getrandbits", "randbytes")
_TODAY = ("now", "utcnow", "today")
_READ_ONLY = 0
_ACCESS_MODE = 3
_AUDITED = {
    "open": "files",
    "subprocess.Popen": "machine",
    "os.system": "machine",
    "os.fork": "machine",
    "os.posix_spawn": "machine",
    "socket.connect": "network",
    "socket.bind": "network",
    "socket.sendto": "network",
    "urllib.Request": "network",
    "sqlite3.connect": "files",
}


class Interception:
    """Listens while `listening`. `moment` says where the replay stands when something is heard."""

    def __init__(
        self,
        calls: list[RealCall],
        shared: Random,
        system: type[Random],
        operator_modules: Callable[[], frozenset[str]],
    ):
        self.readings = Readings()
        self.moment = Moment("open")
        self._shared = shared
        self._system = system
        self._operator_modules = operator_modules
        self._roles: dict[CodeType, Role] = {}
        self._seeded: WeakKeyDictionary[Random, bool] = WeakKeyDictionary()
        self._builtins: dict[Any, tuple[str, str]] = {id: ("identity", "id"), hash: ("identity", "hash")}
        self._functions: dict[CodeType, tuple[str, str]] = {}
        for kind, name, function in calls:
            code = getattr(function, "__code__", None)
            if code is None:
                self._builtins[function] = kind, name
            else:
                self._functions[code] = kind, name
        for name, function in vars(Random).items():
            code = getattr(function, "__code__", None)
            if code is not None and not name.startswith("_") and name not in ("seed", "getstate", "setstate"):
                self._functions[code] = "random", f"random.{name}"
        self._seeding = {Random.seed.__code__, Random.setstate.__code__}
        self._on = False

    @contextmanager
    def listening(self, moment: Moment) -> Iterator[None]:
        """While the operator is at work; what was there before is there again afterwards."""
        before, self.moment = sys.getprofile(), moment
        _hear_audits_for(self)
        self._on = True
        sys.setprofile(self._heard)
        try:
            yield
        finally:
            sys.setprofile(before)
            self._on = False

    # --- what is heard ---

    def _heard(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            known = self._called(frame, argument)
            if known is not None:
                self._note(*known, frame)
        elif event == "call":
            code = frame.f_code
            if code in self._functions:
                self._function(frame, *self._functions[code])
            elif code in self._seeding:
                self._note_seeding(frame)

    def _called(self, frame: FrameType, function: Any) -> tuple[str, str] | None:
        """A function of C: by itself, or a method by whose it is."""
        owner = getattr(function, "__self__", None)
        if isinstance(owner, Random) and function.__name__ in _DRAWS:
            return ("random", f"random.{function.__name__}") if self._is_unseeded(owner) else None
        if isinstance(owner, type) and function.__name__ in _TODAY and issubclass(owner, date):
            return "clock", f"{owner.__name__}.{function.__name__}"
        try:
            known = self._builtins.get(function)
        except TypeError:  # a method of what can't be hashed
            return None
        if known is None:
            return None
        if known[0] == "identity" and self._role(frame.f_code, frame) != "operator":
            return None  # libraries use it to remember objects by
        enough = _ANSWERED_BY_ARGUMENTS.get(known[1])
        return None if enough is not None and _arguments(frame) >= enough else known

    def _function(self, frame: FrameType, kind: str, name: str) -> None:
        """A function of a library written in Python."""
        owner = frame.f_locals.get("self")
        if isinstance(owner, Random) and not self._is_unseeded(owner):
            return
        key = frame.f_locals.get("key") if kind == "environment" else None
        if frame.f_back is not None:
            self._note(kind, name, frame.f_back, detail="" if key is None else printable(str(key)))

    def _note_seeding(self, frame: FrameType) -> None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, Random):
            self._seeded[owner] = frame.f_locals.get("a", True) is not None

    def _is_unseeded(self, generator: Random) -> bool:
        """What everybody draws from is nobody's own, whatever it was seeded with."""
        if generator is self._shared or isinstance(generator, self._system):
            return True
        return not self._seeded.get(generator, False)

    def audited(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Files, sockets, processes and threads are told of by the interpreter itself."""
        kind = _AUDITED.get(event)
        if not self._on or kind is None:
            return
        path, flags = (arguments[0], arguments[2]) if event == "open" else (None, _READ_ONLY)
        if event == "open" and isinstance(flags, int) and flags & _ACCESS_MODE == 1:
            return  # only written
        if isinstance(path, bytes):
            path = path.decode("utf-8", "replace")
        self._on = False  # what is done here is nobody's reading
        try:
            detail = printable(path) if isinstance(path, str) else ""
            self._note(kind, event, sys._getframe(2), detail=detail)
        finally:
            self._on = True

    # --- whose it is ---

    def _note(self, kind: str, call: str, caller: FrameType, detail: str = "") -> None:
        line: FrameType | None = caller
        collecting = collectors()
        while line is not None:
            if line.f_code in collecting:
                return  # garbage was collected just then
            role = self._role(line.f_code, line)
            if role == "operator":
                break
            if role == "engine" or line.f_code in self._functions:
                return  # the engine's own; or a part of another call, which is noted
            line = line.f_back
        if line is None:
            return
        file = caller.f_code.co_filename
        through = "" if line is caller or file.startswith("<") else f"{source_name(file)}:{caller.f_lineno}"
        place = line.f_code.co_filename, line.f_lineno
        self.readings.note(kind, call, place, through, self.moment, detail)

    def _role(self, code: CodeType, frame: FrameType) -> Role:
        found = self._roles.get(code)
        if found is None:
            found = self._roles[code] = self._role_of(code, str(frame.f_globals.get("__name__", "")))
        return found

    def _role_of(self, code: CodeType, module: str) -> Role:
        if is_operators(module, self._operator_modules()):
            return "operator"
        if module.partition(".")[0] in (*_ENGINE, *_QUIET) or code.co_filename.startswith("<frozen importlib"):
            return "engine"  # what importing a module reads is the module's, and the same in every execution
        return "library"


def is_operators(module: str, modules: frozenset[str]) -> bool:
    """Whether a module is an operator's: its class stands there, or in another module of the same package."""
    for one in modules:
        package = one.partition(".")[0]
        if module == one or (package not in _ENGINE and module.partition(".")[0] == package):
            return True
        if one.startswith(_SAMPLES) and module.startswith(_SAMPLES):
            return True
    return False


def _arguments(frame: FrameType) -> int:
    """How many the call that is being made has: the instruction says it."""
    instructions, at = frame.f_code.co_code, frame.f_lasti
    return instructions[at + 1] if 0 <= at < len(instructions) - 1 else 0


# An audit hook stays until the process ends: there is one, and it listens for whoever listens now.
_listener: list[Interception] = []


def _hear_audits_for(interception: Interception) -> None:
    first = not _listener
    _listener[:] = [interception]
    if first:
        sys.addaudithook(_heard_event)


def _heard_event(event: str, arguments: tuple[Any, ...]) -> None:
    _listener[0].audited(event, arguments)


def own_modules(operator: type) -> frozenset[str]:
    """The modules that an operator's class, and those it derives from, stand in."""
    standard = sys.stdlib_module_names
    return frozenset(one.__module__ for one in operator.__mro__ if one.__module__.partition(".")[0] not in standard)
