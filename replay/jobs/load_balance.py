"""`random-load-balance`: requests go to workers by chance, and workers give them to servers by chance."""

from __future__ import annotations

from typing import Any

from replay.jobs.draws import Draws
from replay.jobs.rows import Step, row, source, steady_partitions
from replay.jobs.sample import SampleJob
from replay.model import Record
from replay.runtime.operators import Context, Operator
from replay.runtime.operators.keyed import KeyedState

SERVERS = 8


class Dispatcher(Operator):
    """Gives each request to the less busy of two servers drawn by chance."""

    description = "Draws two servers for each request and gives it to the one that has had fewer."

    def __init__(self) -> None:
        self.given: KeyedState[int] = KeyedState()

    def on_record(self, record: Record, context: Context) -> None:
        """The output says who got it, and as the how-many-th of that server's requests here."""
        one, other = context.random.next_int(SERVERS), context.random.next_int(SERVERS)
        server = min((one, other), key=lambda drawn: (self.given.get(drawn) or 0, drawn))
        nth = (self.given.get(server) or 0) + 1
        self.given.put(server, nth)
        value = {**record.value, "dispatcher": context.task, "server": server, "nth": nth}
        context.emit(Record(record.key, record.timestamp, value, record.lineage))

    def snapshot(self) -> dict[str, Any]:
        """How many requests each server has had."""
        return {"given": self.given.pairs()}

    def restore(self, state: Any) -> None:
        """The inverse of `snapshot`."""
        self.given.restore(state["given"])


def _request(offset: int, draws: Draws) -> tuple[Any, dict[str, Any]]:
    return f"user-{draws.below(100):02d}", {"request": offset, "weight": 1 + draws.below(9)}


RANDOM_LOAD_BALANCE = SampleJob(
    name="random-load-balance",
    description="Requests go to dispatchers over random edges; each gives them to servers that it draws by chance.",
    shape=lambda options: row(
        options,
        source(options, time="processing", chance=True),
        [Step("dispatch", Dispatcher, chance=True)],
        ("random", "random"),
    ),
    partitions=lambda manifest, options: steady_partitions(manifest, options, _request),
    takes=frozenset({"random"}),
    shows_all=True,
)
