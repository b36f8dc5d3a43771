"""`enrich`: each order is looked up outside, and what was found is written down outside; either may go wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.jobs.draws import Draws
from replay.jobs.rows import Step, row, source, steady_partitions
from replay.jobs.sample import SampleJob
from replay.model import Record
from replay.runtime.operators import Context, ExternalFault, Operator

_CUSTOMERS = 40


class Enrich(Operator):
    """Asks the outside what it knows of a customer, and tells it of his order: two calls a record, logged both."""

    description = "Looks up each customer outside and has the order written down there; says what went wrong."

    def __init__(self) -> None:
        self.asked = 0
        self.faults = 0

    def on_record(self, record: Record, context: Context) -> None:
        """A call that raises is part of the result, like one that answers."""
        value = dict(record.value)
        value["profile"] = self._call(context, "profile", {"customer": record.key}, "read")
        value["receipt"] = self._call(context, "orders", {"order": list((record.lineage or ((),))[0])}, "write")
        context.emit(Record(record.key, record.timestamp, value, record.lineage))

    def _call(self, context: Context, call: str, request: Any, effect: str) -> Any:
        self.asked += 1
        try:
            return context.external(call, request, effect=effect)
        except ExternalFault as fault:
            self.faults += 1
            return {"raised": fault.type, "message": fault.message}

    def snapshot(self) -> dict[str, Any]:
        """How many calls were made, and how many raised."""
        return {"asked": self.asked, "faults": self.faults}

    def restore(self, state: Mapping[str, Any]) -> None:
        """The inverse of `snapshot`."""
        self.asked, self.faults = state["asked"], state["faults"]


def _order(offset: int, draws: Draws) -> tuple[Any, dict[str, Any]]:
    return f"customer-{draws.below(_CUSTOMERS):02d}", {"order": offset, "amount": 100 + draws.below(10_000)}


ENRICH = SampleJob(
    name="enrich",
    description="Each order is looked up and written down outside, by calls that never answer twice alike, or raise.",
    shape=lambda options: row(options, source(options, time="processing"), [Step("enrich", Enrich)], ("hash", "hash")),
    partitions=lambda manifest, options: steady_partitions(manifest, options, _order),
    shows_all=True,
)
