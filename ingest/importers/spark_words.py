"""What a query's checkpoint tells and what it can't, in sentences that a job's page shows."""

from __future__ import annotations

import datetime
from collections import Counter

from ingest.importers.spark_query import Query

LACKS = (
    "The records themselves, and what the query gave out, are not in a checkpoint: whether a batch that runs again "
    "gives the same output can't be said from it.",
    "No choices are recorded: clocks, random numbers and answers of calls that the query's functions took are unknown, "
    "so nothing of it can be re-executed, and no verdict says identical.",
    "Executors, tasks that failed and were tried again, and starts of the driver are not in it: every task shows one "
    "attempt.",
    "Which operator feeds which is not in it, so the graph has no edges; operators without state are not named at all.",
    "When a batch was committed is not in it. Its commit stands at the moment when the next batch was planned, and "
    "came before that; the last one stands where its own batch was planned, and came after that.",
)
MOST_NAMED = 5


def says(query: Query) -> list[str]:
    """The most urgent first."""
    batches = query.batches
    first, last = batches[0], batches[-1]
    told = []
    if not last.committed:
        told.append(
            f"Batch {last.number} was planned and never committed: it will run again, over the same offsets, when the "
            "query starts from this checkpoint. What its first run gave to a sink before it ended is given once more."
        )
    else:
        told.append(f"Every batch up to {last.number} is committed: the query goes on with batch {last.number + 1}.")
    stuck = [one.number for one in query.open_batches if one is not last]
    if stuck:
        told.append(
            f"{_numbers('Batch', 'Batches', stuck)} never committed although later ones were planned: the query tracks "
            "its progress asynchronously, or files are missing from this copy."
        )
    if query.committed_without_offsets:
        told.append(
            f"{_numbers('Batch', 'Batches', query.committed_without_offsets)} committed, and what was planned for "
            f"{'it' if len(query.committed_without_offsets) == 1 else 'them'} is no longer in the folder."
        )
    if first.number:
        told.append(f"Batches before {first.number} are no longer in the folder: the engine keeps only the last ones.")
    if last.watermark_ms > 0:
        told.append(f"The watermark of the last batch stands at {_moment(last.watermark_ms)} of event time.")
    return told


def lacks(query: Query) -> list[str]:
    """What can't be said, and of the state which part and why."""
    whys: Counter[str] = Counter()
    for partition in query.partitions.values():
        whys.update(partition.unknown.values())
    unread = [
        f"The state of {count} {'version' if count == 1 else 'versions'} of partitions is not known: {why}."
        for why, count in sorted(whys.items())
    ]
    if not query.operators:
        unread.append("The query keeps no state, or its folder was left out of this copy.")
    return [*unread, *LACKS]


def _numbers(one: str, many: str, numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:MOST_NAMED]))
    more = f" and {len(numbers) - MOST_NAMED} more" if len(numbers) > MOST_NAMED else ""
    return f"{one} {shown} was" if len(numbers) == 1 else f"{many} {shown}{more} were"


def _moment(at_ms: int) -> str:
    try:
        return datetime.datetime.fromtimestamp(at_ms / 1000, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{at_ms} ms"
