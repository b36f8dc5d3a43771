"""`word-count`: lines are split into words, which are counted one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from replay.jobs.draws import Draws
from replay.jobs.rows import Step, row, source, steady_partitions
from replay.jobs.sample import SampleJob
from replay.model import Record
from replay.runtime.operators import Context
from replay.runtime.operators.functional import FlatMap
from replay.runtime.operators.keyed import KeyedProcess

_TEXT = """
the of and to in is that it was for on are as with his they at be this from have or by one had not but what all were
when we there can an your which their said if do will each about how up out them then she many some so
"""
WORDS = tuple(_TEXT.split())


class Split(FlatMap):
    """A record per word."""

    description = "Splits each line into its words."

    def flat_map(self, record: Record) -> Iterable[Record]:
        """Each word is its own key."""
        for word in record.value["text"].split():
            yield Record(word, record.timestamp, {"word": word}, record.lineage)


class Count(KeyedProcess):
    """How often a word has come, with every word."""

    description = "Says how often each word has come, whenever it comes."

    def process(self, record: Record, state: Any, context: Context) -> Any:
        """One more; the result names the line that this word came from."""
        count = (state or 0) + 1
        context.emit(Record(record.key, record.timestamp, {"word": record.key, "count": count}, record.lineage))
        return count


def _line(offset: int, draws: Draws) -> tuple[Any, dict[str, Any]]:
    # The smaller of two draws: early words come more often, as they do in texts.
    words = [WORDS[min(draws.below(len(WORDS)), draws.below(len(WORDS)))] for _ in range(1 + draws.below(5))]
    return f"line-{offset}", {"text": " ".join(words)}


WORD_COUNT = SampleJob(
    name="word-count",
    description="Lines are split into words; each word's count goes on whenever it comes.",
    shape=lambda options: row(
        options,
        source(options, time="processing"),
        [Step("split", Split), Step("count", Count)],
        ("rebalance", "hash", "hash"),
    ),
    partitions=lambda manifest, options: steady_partitions(manifest, options, _line),
    depth=4,
    shows_all=True,
)
