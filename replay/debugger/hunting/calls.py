"""Which calls answer differently another time or elsewhere: by name, so that nothing of it is touched to know it."""

from __future__ import annotations

import random
import sys
from datetime import date
from opcode import opmap
from random import Random
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from replay.debugger.hunting.sockets import address, host_of, passing


class Call(NamedTuple):
    """`kind` is one of `KINDS`; `direct`: only where the operator's own code makes it, since libraries use it too.
    `detail`: of what, where that is known."""

    kind: str
    name: str
    direct: bool = False
    detail: str = ""


_BUILT_IN = {
    ("clock", "time"): "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time process_time_ns "
    "thread_time thread_time_ns clock_gettime clock_gettime_ns localtime gmtime ctime strftime asctime",
    ("random", "posix"): "urandom getrandom",
    ("random", "_ssl"): "RAND_bytes",
    ("files", "posix"): "listdir scandir stat lstat fstat access readlink getcwd getcwdb statvfs getxattr listxattr",
    ("machine", "posix"): "getpid getppid getpgid getsid cpu_count uname getloadavg times getlogin getuid geteuid "
    "getgid getegid sched_getaffinity getpriority",
    ("machine", "resource"): "getrusage getrlimit",
    ("machine", "pwd"): "getpwuid getpwnam getpwall",
    ("threads", "_thread"): "start_new_thread start_joinable_thread",
    ("network", "_socket"): "gethostname getaddrinfo gethostbyname gethostbyaddr getservbyname",
}
_DIRECT = {
    ("identity", "builtins"): "id hash",
    ("threads", "_thread"): "get_ident get_native_id",
    ("machine", "sys"): "getrefcount",
    ("machine", "gc"): "get_count get_objects get_stats",
}
_IN_PYTHON = {
    ("random", "uuid"): "uuid1 uuid4 getnode",
    ("random", "secrets"): "token_bytes token_hex token_urlsafe randbelow",
    ("environment", "os"): "getenv getenvb _Environ.__getitem__ _Environ.__iter__ _Environ.__len__ get_exec_path",
    ("files", "tempfile"): "gettempdir mkdtemp mkstemp mktemp NamedTemporaryFile TemporaryFile "
    "TemporaryDirectory.__init__",
    ("machine", "subprocess"): "Popen.__init__",
    ("machine", "platform"): "uname platform",
    ("network", "socket"): "getaddrinfo getfqdn",
}
_DIRECT_IN_PYTHON = {
    ("environment", "locale"): "getlocale getdefaultlocale getpreferredencoding localeconv",
}
_SHOWN_MODULE = {"posix": "os", "_socket": "socket", "_thread": "threading", "_ssl": "ssl"}

AUDITED = {
    "open": "files",
    "mmap.__new__": "files",
    "sqlite3.connect": "files",
    "builtins.input": "files",
    "subprocess.Popen": "machine",
    "os.system": "machine",
    "os.fork": "machine",
    "os.forkpty": "machine",
    "os.posix_spawn": "machine",
    "ctypes.dlopen": "machine",
    "ctypes.dlsym": "machine",
    "socket.connect": "network",
    "socket.bind": "network",
    "socket.sendto": "network",
    "urllib.Request": "network",
}
"""Events that the interpreter tells of by itself, and their kinds."""
_TO_ADDRESSES = ("socket.connect", "socket.bind", "socket.sendto")

CALLED_KINDS = frozenset(kind for table in (_BUILT_IN, _DIRECT, _IN_PYTHON, _DIRECT_IN_PYTHON) for kind, _ in table)
"""The kinds that calls have."""

# Asked with so many arguments these answer from what they are given.
_ANSWERED_BY_ARGUMENTS = {"time.localtime": 1, "time.gmtime": 1, "time.ctime": 1, "time.strftime": 2, "time.asctime": 1}
_DRAWS = ("random", "getrandbits", "randbytes")
_TODAY = ("now", "utcnow", "today")
_WRITE_ONLY = 1
_ACCESS_MODE = 3
_NUMPY_SEED_BITS = 128
_IN_MEMORY = ("", ":memory:")
_IN_A_TUPLE = opmap["CALL_FUNCTION_EX"]


def _by_name(*tables: dict[tuple[str, str], str], direct: bool = False) -> dict[tuple[str, str], Call]:
    return {
        (module, name): Call(kind, _shown(module, name), direct)
        for table in tables
        for (kind, module), names in table.items()
        for name in names.split()
    }


def _shown(module: str, name: str) -> str:
    name = "environ" if name.startswith("_Environ.") else name.removesuffix(".__init__")
    return name if module == "builtins" else f"{_SHOWN_MODULE.get(module, module)}.{name}"


_C = _by_name(_BUILT_IN) | _by_name(_DIRECT, direct=True)
_PYTHON = _by_name(_IN_PYTHON) | _by_name(_DIRECT_IN_PYTHON, direct=True)
_SHARED, _SYSTEM = vars(random)["_inst"], vars(random)["SystemRandom"]
_SEEDING = {Random.seed.__code__, Random.setstate.__code__}


class Calls:
    """Tells them from all others. It sees generators being seeded, and so knows whose numbers follow from a seed."""

    def __init__(self) -> None:
        self._seeded: WeakKeyDictionary[Random, bool] = WeakKeyDictionary()
        self._functions: dict[CodeType, Call | None] = {}

    def built_in(self, frame: FrameType, function: Any) -> Call | None:
        """A function of C that is about to be called there: by itself, or a method by whose it is."""
        owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
        if isinstance(owner, ModuleType):
            known = _C.get((owner.__name__, name))
            if known is None or name not in ("localtime", "gmtime", "ctime", "strftime", "asctime"):
                return known
            return None if _arguments(frame) >= _ANSWERED_BY_ARGUMENTS[known.name] else known
        if isinstance(owner, Random):
            return Call("random", f"random.{name}") if name in _DRAWS and self._is_unseeded(owner) else None
        if isinstance(owner, type) and name in _TODAY and issubclass(owner, date):
            return Call("clock", f"{owner.__name__}.{name}")
        over = passing(owner, name)
        return None if over is None else Call("network", over[0], detail=over[1])

    def in_python(self, frame: FrameType) -> Call | None:
        """A function that has just begun."""
        code = frame.f_code
        if code in _SEEDING:
            self._seed(frame)
            return None
        known = self.function(frame)
        if known is None or known.kind != "random":
            return known
        owner = frame.f_locals.get("self")
        if isinstance(owner, Random) and (not self._is_unseeded(owner) or _is_seed_to_be_replaced(frame)):
            return None
        return known

    def function(self, frame: FrameType) -> Call | None:
        """Which of them a frame executes, whoever's it is."""
        code = frame.f_code
        if code not in self._functions:
            self._functions[code] = self._named(str(frame.f_globals.get("__name__")), code.co_qualname)
        return self._functions[code]

    def _named(self, module: str, name: str) -> Call | None:
        owner, _, method = name.partition(".")
        if module == "random" and owner in ("Random", "SystemRandom") and method and not method.startswith("_"):
            return None if method in ("seed", "getstate", "setstate") else Call("random", f"random.{method}")
        return _PYTHON.get((module, name))

    def _seed(self, frame: FrameType) -> None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, Random):
            self._seeded[owner] = frame.f_locals.get("a", True) is not None

    def _is_unseeded(self, generator: Random) -> bool:
        """What everybody draws from is nobody's own, whatever it was seeded with."""
        if generator is _SHARED or isinstance(generator, _SYSTEM):
            return True
        return not self._seeded.get(generator, False)


def audited(event: str, arguments: tuple[Any, ...]) -> tuple[str, str] | None:
    """(kind, path) of an event of the interpreter; None where nothing is read by it."""
    kind = AUDITED.get(event)
    if kind is None:
        return None
    first = arguments[0] if arguments else None
    path = first.decode("utf-8", "replace") if isinstance(first, bytes) else first if isinstance(first, str) else ""
    if event == "open" and isinstance(flags := arguments[2], int) and flags & _ACCESS_MODE == _WRITE_ONLY:
        return None
    if event == "sqlite3.connect" and path in _IN_MEMORY:
        return None
    if event == "mmap.__new__" and first == -1:
        return None  # memory, and no file
    if event in _TO_ADDRESSES and len(arguments) > 1:
        return kind, address(arguments[1])
    if event == "urllib.Request":
        return kind, host_of(path)
    return kind, path if kind == "files" else ""


def _is_seed_to_be_replaced(frame: FrameType) -> bool:
    """Whether numpy asks the system for a seed though it is given one: `RandomState(7)` makes a generator first."""
    caller = frame.f_back
    if caller is None or frame.f_locals.get("k") != _NUMPY_SEED_BITS or "numpy.random" not in sys.modules:
        return False
    return not {"randbits", "getrandbits"} & set(caller.f_code.co_names) and _arguments(caller) > 0


def _arguments(frame: FrameType) -> int:
    """How many the call that is being made has: the instruction says it, but where they come in a tuple."""
    instructions, at = frame.f_code.co_code, frame.f_lasti
    if not 0 <= at < len(instructions) - 1 or instructions[at] == _IN_A_TUPLE:
        return 2
    return instructions[at + 1]
