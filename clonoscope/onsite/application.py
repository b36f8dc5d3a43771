"""A job's own function, found by its name, and how it is called: for a record, for many of them, or as a class."""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import inspect
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from clonoscope.errors import WrongUse
from clonoscope.onsite.messages import Producer
from clonoscope.onsite.stand_in import StandInTask
from replay.errors import ReplayError, printable

BATCH_NAMES = ("records", "batch")
MESSAGE_NAMES = ("message", "messages")
EPOCH_NAMES = ("epoch", "epoch_id", "batch_id")
# By what a recording calls them: nothing is imported that only a recording names.
_ENGINES = {"spark": "clonoscope.adapters.spark_on_site"}
_DECORATORS_MOST = 20
ADAPTED = "__clonoscope_replay__"
"""An attribute of what an adapter wraps: called with the task, it gives what is to be called in its place."""


class Application:
    """What `--app` names. `process` for each record, or `process_all` once an epoch, where `takes_all`."""

    def __init__(self, name: str, target: Any, task: StandInTask):
        self.name = name
        adapted = _adapted(target, task)
        if adapted is None and type(target).__module__.startswith("clonoscope.adapters"):
            remedy = "Name the job's own function or class behind it, or one that calls it as the adapter would"
            raise WrongUse(f"{name} is wrapped by an adapter that can't be replayed by itself", remedy=remedy)
        target = target if adapted is None else adapted(task)
        self._target = target() if inspect.isclass(target) else target
        self._function = getattr(self._target, "process", self._target)
        if not callable(self._function):
            remedy = "Name a function of a record, one of `records`, or a class with a method process"
            raise WrongUse(f"{name} can't be called", remedy=remedy)
        self._task = task
        self._producer = Producer(task.given)
        self.takes_messages = False
        self._runner: asyncio.Runner | None = None
        self._more: dict[str, str] = {}
        self.takes_all = self._look_at_parameters()
        self.call("open", task)

    def _look_at_parameters(self) -> bool:
        """What it asks for besides records, by the names of its parameters."""
        try:
            names = list(inspect.signature(self._function).parameters)
        except (TypeError, ValueError):  # of C
            return False
        self._more = {name: name for name in names if name in ("task", "producer")}
        self._more |= {name: "epoch" for name in names[1:] if name in EPOCH_NAMES}
        own = [name for name in names if name not in self._more]
        self.takes_messages = bool(own) and own[0] in MESSAGE_NAMES
        return bool(own) and own[0] in (*BATCH_NAMES, MESSAGE_NAMES[1])

    @property
    def has_state(self) -> bool:
        """Whether it must be given the state that the attempt began with."""
        return callable(getattr(self._target, "restore", None))

    def call(self, method: str, *arguments: Any) -> Any:
        """A method of a class, where it has it: `open`, `restore`, `begin_epoch`, `end_epoch`, `snapshot`, `close`."""
        found = getattr(self._target, method, None) if self._function is not self._target else None
        return found(*arguments) if callable(found) else None

    def given(self, record: Any, epoch: int) -> Iterator[Any]:
        """What it gives for a record, or for an iterator of an epoch's records."""
        of_each = {"task": self._task, "producer": self._producer, "epoch": epoch}
        more = {name: of_each[what] for name, what in self._more.items()}
        made = self._function(record, **more)
        if inspect.isawaitable(made):
            made = self._awaited(made)
        if isinstance(made, AsyncIterator):
            return self._drained(made)
        return _outputs(made)

    def _awaited(self, made: Any) -> Any:
        if self._runner is None:
            self._runner = asyncio.Runner()

        async def wait() -> Any:
            return await made

        return self._runner.run(wait(), context=contextvars.copy_context())

    def _drained(self, made: AsyncIterator[Any]) -> Iterator[Any]:
        end = object()
        while (one := self._awaited(anext(made, end))) is not end:
            yield one

    def close(self) -> None:
        """It is needed no more."""
        self.call("close")
        if self._runner is not None:
            self._runner.close()


def _adapted(target: Any, task: StandInTask) -> Callable[[StandInTask], Any] | None:
    """By its adapter's wrapper, also below decorators of the engine's; else by the engine that the recording names."""
    inner, seen = target, 0
    while inner is not None and seen < _DECORATORS_MOST:
        if not inspect.isclass(inner) and (found := getattr(inner, ADAPTED, None)) is not None:
            wrapped: Callable[[StandInTask], Any] = found
            return wrapped
        inner, seen = getattr(inner, "__wrapped__", None), seen + 1
    began = None if task.border is None else task.border.began
    module = _ENGINES.get(str((began or {}).get("engine")))
    if module is None:
        return None
    return lambda task: importlib.import_module(module).adapted(target, task)


def _outputs(made: Any) -> Iterator[Any]:
    """Nothing is no output; what is iterated is one each, and so is a list of lists; anything else is one."""
    if made is None:
        return iter(())
    if isinstance(made, Iterator):
        return made
    if isinstance(made, list) and all(isinstance(one, list | tuple) for one in made):
        return iter(made)
    return iter((made,))


@contextmanager
def called_with(arguments: Sequence[str]) -> Iterator[None]:
    """Within, modules that are imported find the job's own command line, and not that of the replay."""
    before, sys.argv = sys.argv, ["job", *arguments]
    try:
        yield
    finally:
        sys.argv = before


def load(name: str, what: str = "--app") -> Any:
    """What stands at `package.module:name`, as it is seen from the working folder."""
    module, colon, path = name.partition(":")
    if not module or not colon or not path:
        raise WrongUse(f"{what} is {printable(name)!r}", remedy="It is a module and a name in it: jobs.orders:process")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    # A file changed within the second, and as long as before, would be taken for what was compiled of it before; and a
    # replay leaves nothing beside the job's files.
    sys.dont_write_bytecode = True
    try:
        found: Any = importlib.import_module(module)
    except Exception as fault:
        if isinstance(fault, ModuleNotFoundError) and fault.name and module.startswith(fault.name):
            why = f"{what} names the module {module}, which can't be found from {here}"
            raise WrongUse(why, remedy="Run this where the job runs, or set PYTHONPATH") from None
        raise ReplayError(
            f"the module {module} can't be imported: {type(fault).__name__}: {printable(str(fault))}",
            remedy="What it does when it is imported must need neither the network nor what only the job has; its own "
            "command line stands behind --",
        ) from fault
    for part in path.split("."):
        if not hasattr(found, part):
            raise WrongUse(f"{what}: {module} has no {path}", remedy="Name what is defined there")
        found = getattr(found, part)
    return found
