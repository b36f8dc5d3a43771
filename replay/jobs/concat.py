"""`concat`: letters of several inputs are put one behind the other, the last two at a time, in the order they come.

The operation does not commute, so a recovery that takes its inputs in another order contradicts what was already seen.
"""

from __future__ import annotations

from typing import Any

from replay.jobs.draws import Draws
from replay.jobs.rows import Step, row, source, steady_partitions
from replay.jobs.sample import SampleJob
from replay.model import Record
from replay.runtime.operators import Context, merged_lineage
from replay.runtime.operators.keyed import KeyedProcess

_LAST = 2
_KEYS = 4
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Concat(KeyedProcess):
    """The state is the last two letters, each with the record that it came from."""

    description = "Puts each letter behind the one before it of its key, in the order in which they come."

    def process(self, record: Record, state: Any, context: Context) -> Any:
        """The last two letters together, naming both records; the first one comes alone."""
        held = [*(state or ()), [record.value["letter"], [list(pair) for pair in record.lineage or ()]]][-_LAST:]
        names = merged_lineage(*(tuple((task, offset) for task, offset in pairs) for _, pairs in held))
        text = "".join(letter for letter, _ in held)
        context.emit(Record(record.key, record.timestamp, {"text": text}, names))
        return held


def _letter(offset: int, draws: Draws) -> tuple[Any, dict[str, Any]]:
    return f"k{draws.below(_KEYS)}", {"letter": _LETTERS[draws.below(len(_LETTERS))]}


CONCAT = SampleJob(
    name="concat",
    description="Letters of several inputs are put one behind the other, two at a time: the order shows.",
    shape=lambda options: row(options, source(options, time="processing"), [Step("concat", Concat)], ("hash", "hash")),
    partitions=lambda manifest, options: steady_partitions(manifest, options, _letter),
    shows_all=True,
)
