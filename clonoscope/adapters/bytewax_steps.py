"""What stands for the steps, sources and sinks of a Bytewax dataflow; the engine's own classes are looked up at use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from clonoscope.adapters.bytewax import Numbering, Worker, Workers, take
from clonoscope.services import current
from clonoscope.unrecorded import UNRECORDED


def wrap(flow: Any, workers: Workers) -> None:
    """Puts what records in place of what the core operators were given. Their fields are frozen for users alone."""
    for step in _core_steps(flow.substeps):
        given = _GIVEN.get(type(step).__name__)
        if given is not None:
            name, make = given
            object.__setattr__(step, name, make(workers, step.step_id, getattr(step, name)))


def _core_steps(steps: Any) -> Iterator[Any]:
    for step in steps:
        if getattr(step, "core", False):
            yield step
        else:
            yield from _core_steps(step.substeps)


# --- functions and builders ---


def _function(workers: Workers, _: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a batch, or of an item."""

    def recorded(*arguments: Any) -> Any:
        worker = workers.here()
        if worker.epoch != workers.epoch:
            worker.enter()
        current.set(worker.log)
        try:
            found = function(*arguments)
            # A generator would be run later, between the steps of others.
            return list(found) if isinstance(found, Iterator) else found
        except BaseException as fault:
            worker.fail(fault)
            raise

    return recorded


def _builder(workers: Workers, step: str, builder: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def build(state: Any) -> Any:
        worker = workers.here()
        with worker.asked():
            return _recorded("operators", "StatefulBatchLogic", _Logic)(builder(state), worker, step)

    return build


class _Logic:
    """Stands for the logic of one key, of which the engine tells the state and not the name."""

    def __init__(self, real: Any, worker: Worker, step: str):
        self.real, self.worker, self.step = real, worker, step
        self.notify_at = real.notify_at

    def _called(self, name: str, *arguments: Any) -> Any:
        worker = self.worker
        if worker.epoch != worker.workers.epoch:
            worker.enter()
        current.set(worker.log)
        try:
            found, over = getattr(self.real, name)(*arguments)
            return (list(found) if isinstance(found, Iterator) else found), over
        except BaseException as fault:
            worker.fail(fault)
            raise

    def on_batch(self, values: list[Any]) -> Any:
        return self._called("on_batch", values)

    def on_notify(self) -> Any:
        return self._called("on_notify")

    def on_eof(self) -> Any:
        return self._called("on_eof")

    def snapshot(self) -> Any:
        current.set(self.worker.log)
        state = self.real.snapshot()
        self.worker.snapshot(self.step, None, state)
        return state


# --- sources ---


def _source(workers: Workers, step: str, source: Any) -> Any:
    if hasattr(source, "list_parts"):
        return _recorded("inputs", "FixedPartitionedSource", _FixedSource)(source, workers, step)
    return _recorded("inputs", "DynamicSource", _DynamicSource)(source, workers, step)


class _Wrapped:
    """A source or a sink."""

    def __init__(self, real: Any, workers: Workers, step: str):
        self.real, self.workers, self.step = real, workers, step

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def list_parts(self) -> Any:
        return self.real.list_parts()


class _FixedSource(_Wrapped):
    def build_part(self, step_id: str, for_part: str, resume_state: Any) -> Any:
        worker = self.workers.here()
        with worker.asked():
            real = self.real.build_part(step_id, for_part, resume_state)
        made = _recorded("inputs", "StatefulSourcePartition", _SourcePartition)
        return made(real, worker, self.step, Numbering(for_part, self.workers.first_epoch, resume_state))


class _DynamicSource(_Wrapped):
    def build(self, step_id: str, worker_index: int, worker_count: int) -> Any:
        worker = self.workers.here(worker_index)
        with worker.asked():
            real = self.real.build(step_id, worker_index, worker_count)
        made = _recorded("inputs", "StatelessSourcePartition", _SourcePartition)
        return made(real, worker, self.step, Numbering(f"{self.step}.{worker_index}", self.workers.first_epoch, None))


class _Part:
    """A partition of a source or a sink, on its worker."""

    def __init__(self, real: Any, worker: Worker, step: str, *_: Any):
        self.real, self.worker, self.step = real, worker, step

    def close(self) -> None:
        with self.worker.asked():
            self.real.close()
        current.set(UNRECORDED)


class _SourcePartition(_Part):
    def __init__(self, real: Any, worker: Worker, step: str, numbering: Numbering):
        super().__init__(real, worker, step)
        self.numbering = numbering
        self.next_awake = real.next_awake

    def next_batch(self) -> Any:
        worker, numbering = self.worker, self.numbering
        # None of the workers begins this epoch before all are done with the one before.
        worker.workers.epoch = max(worker.workers.epoch, numbering.epoch)
        with worker.asked():
            batch = self.real.next_batch()
            if not isinstance(batch, list):
                batch = list(batch)
            if batch:
                take(worker, numbering, batch)
            return batch

    def snapshot(self) -> Any:
        current.set(self.worker.log)
        state = self.real.snapshot()
        self.worker.snapshot(self.step, self.numbering.name, state)
        self.numbering.snapshot(state)
        return state


# --- sinks ---


def _sink(workers: Workers, step: str, sink: Any) -> Any:
    if hasattr(sink, "list_parts"):
        return _recorded("outputs", "FixedPartitionedSink", _FixedSink)(sink, workers, step)
    return _recorded("outputs", "DynamicSink", _DynamicSink)(sink, workers, step)


class _FixedSink(_Wrapped):
    def part_fn(self, item_key: str) -> int:
        found: int = self.real.part_fn(item_key)
        return found

    def build_part(self, step_id: str, for_part: str, resume_state: Any) -> Any:
        worker = self.workers.here()
        with worker.asked():
            real = self.real.build_part(step_id, for_part, resume_state)
        return _recorded("outputs", "StatefulSinkPartition", _SinkPartition)(real, worker, self.step, for_part)


class _DynamicSink(_Wrapped):
    def build(self, step_id: str, worker_index: int, worker_count: int) -> Any:
        worker = self.workers.here(worker_index)
        with worker.asked():
            real = self.real.build(step_id, worker_index, worker_count)
        return _recorded("outputs", "StatelessSinkPartition", _SinkPartition)(real, worker, self.step, "")


class _SinkPartition(_Part):
    def __init__(self, real: Any, worker: Worker, step: str, name: str):
        super().__init__(real, worker, step)
        self.name = name

    def write_batch(self, items: list[Any]) -> None:
        worker = self.worker
        with worker.asked():
            # Noted before it leaves: what a kill interrupts may have left.
            worker.wrote(self.step, items)
            self.real.write_batch(items)

    def snapshot(self) -> Any:
        current.set(self.worker.log)
        state = self.real.snapshot()
        self.worker.snapshot(self.step, self.name, state)
        return state


@cache
def _recorded(module: str, base: str, made: type) -> Any:
    """The class as one that the engine takes for one of its own."""
    import importlib

    return type(f"Recorded{base}", (made, getattr(importlib.import_module(f"bytewax.{module}"), base)), {})


_GIVEN: dict[str, tuple[str, Callable[[Workers, str, Any], Any]]] = {
    "flat_map_batch": ("mapper", _function),
    "branch": ("predicate", _function),
    "inspect_debug": ("inspector", _function),
    "stateful_batch": ("builder", _builder),
    "input": ("source", _source),
    "output": ("sink", _sink),
}
"""The core operators that are given something of the user's, and under which name."""
