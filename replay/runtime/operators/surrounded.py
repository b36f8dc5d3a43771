"""Stands before an operator and does as it does: for those who watch what it is asked to do."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from replay.model import Record
from replay.runtime.operators.base import Context, Operator, Timer

T = TypeVar("T")


class Surrounded(Operator):
    """Each call that the operator is given goes through `called`; what a subclass says there is around it."""

    def __init__(self, operator: Operator):
        self.operator = operator

    @abstractmethod
    def called(self, method: str, action: Callable[[], T]) -> T:
        """Does it, between whatever is to be done before and after."""

    def open(self, context: Context) -> None:
        """As the operator."""
        self.called("open", lambda: self.operator.open(context))

    def on_record(self, record: Record, context: Context) -> None:
        """As the operator."""
        self.called("on_record", lambda: self.operator.on_record(record, context))

    def on_timer(self, timer: Timer, context: Context) -> None:
        """As the operator."""
        self.called("on_timer", lambda: self.operator.on_timer(timer, context))

    def on_watermark(self, watermark_ms: int, context: Context) -> None:
        """As the operator."""
        self.called("on_watermark", lambda: self.operator.on_watermark(watermark_ms, context))

    def snapshot(self) -> dict[str, Any]:
        """As the operator."""
        return self.called("snapshot", self.operator.snapshot)

    def changed(self) -> Mapping[str, Any] | None:
        """As the operator: it is asked by those who look on, and not by the task."""
        return self.operator.changed()

    def restore(self, state: Mapping[str, Any]) -> None:
        """As the operator."""
        self.called("restore", lambda: self.operator.restore(state))


def innermost(operator: Operator) -> Operator:
    """The operator itself, whoever stands before it."""
    while isinstance(operator, Surrounded):
        operator = operator.operator
    return operator
