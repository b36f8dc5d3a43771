"""A Structured Streaming query as its checkpoint tells of it: batches with their offsets, commits and watermarks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ingest.importers.checkpoint_files import CheckpointFiles
from ingest.importers.state_store import Operator, Partition, operators_of, partitions_of
from replay.errors import printable

MOST_BATCHES = 200_000
MOST_SOURCES = 1_024
_OFFSETS = re.compile(r"offsets/(?P<batch>[0-9]{1,18})")
_COMMITS = re.compile(r"commits/(?P<batch>[0-9]{1,18})")
_SOURCE_FILES = re.compile(r"sources/(?P<source>[0-9]{1,9})/(?P<batch>[0-9]{1,18})(?P<compact>\.compact)?")
_SINK_FILES = re.compile(r"(?:.*/)?_spark_metadata/(?P<batch>[0-9]{1,18})(?P<compact>\.compact)?")
_NOTHING = "-"


@dataclass(slots=True)
class Batch:
    """One micro-batch. `offsets`: per source up to where it was to read; None where the source had brought nothing."""

    number: int
    planned_ms: int
    watermark_ms: int
    offsets: list[Any]
    conf: dict[str, Any] = field(default_factory=dict)
    committed: bool = False
    next_watermark_ms: int | None = None


@dataclass(slots=True)
class Query:
    """All that could be read. `source_files` and `sink_files`: {(source, batch): entries}, {batch: entries}.

    `begins`: where sources that list no files began, before the first batch.
    """

    id: str
    batches: list[Batch]
    sources: int
    operators: list[Operator]
    partitions: dict[tuple[int, int], Partition]
    source_files: dict[tuple[int, int], list[dict[str, Any]]]
    begins: dict[int, Any]
    sink_files: dict[int, list[dict[str, Any]]]
    committed_without_offsets: list[int]

    @property
    def open_batches(self) -> list[Batch]:
        """Planned and not committed."""
        return [one for one in self.batches if not one.committed]


def read_query(files: CheckpointFiles) -> Query:
    """Raises `BundleError` for a file that breaks a rule of its log."""
    batches = {int(found["batch"]): _batch(files, name, int(found["batch"])) for found, name in files.of(_OFFSETS)}
    if len(batches) > MOST_BATCHES:
        raise files.fault("offsets", f"there are {len(batches)} batches; at most {MOST_BATCHES} are read")
    if not batches:
        raise files.fault("offsets", "no batch was planned yet: there is nothing to import")
    orphaned = []
    for found, name in files.of(_COMMITS):
        number, next_watermark_ms = int(found["batch"]), _commit(files, name)
        if number in batches:
            batches[number].committed, batches[number].next_watermark_ms = True, next_watermark_ms
        else:
            orphaned.append(number)
    if orphaned and max(orphaned) > max(batches):
        last = max(orphaned)
        raise files.fault(
            f"commits/{last}", f"batch {last} is committed, and there is no offsets/{last} that planned it"
        )
    source_files, begins = _source_logs(files)
    counts = {len(one.offsets) for one in batches.values()}
    return Query(
        id=_id(files),
        batches=[batches[number] for number in sorted(batches)],
        sources=max(counts),
        operators=operators_of(files),
        partitions=partitions_of(files),
        source_files=source_files,
        begins=begins,
        sink_files={n: [_of_sink(one) for one in entries] for _, n, entries in _entries(files, _SINK_FILES)},
        committed_without_offsets=sorted(orphaned),
    )


def _id(files: CheckpointFiles) -> str:
    name = "metadata"
    document = files.object(name, files.read(name).decode("utf-8", "replace"), "the query")
    found = document.get("id")
    if not isinstance(found, str) or not found.isprintable() or len(found) > 100:
        raise files.fault(name, "the query's id is missing")
    return found


def _batch(files: CheckpointFiles, name: str, number: int) -> Batch:
    lines = files.lines(name)
    if not lines:
        raise files.fault(name, "the file ends behind its version: the batch's own line is missing")
    about = files.object(name, lines[0], "the batch")
    offsets = [None if line.strip() == _NOTHING else _offset(files, name, line) for line in lines[1:]]
    if not offsets or len(offsets) > MOST_SOURCES:
        raise files.fault(
            name, f"it must have an offset of each source, and of at most {MOST_SOURCES}; it has {len(offsets)}"
        )
    conf = about.get("conf", {})
    return Batch(
        number,
        files.whole(name, about.get("batchTimestampMs", 0), "batchTimestampMs"),
        files.whole(name, about.get("batchWatermarkMs", 0), "batchWatermarkMs"),
        offsets,
        conf if isinstance(conf, dict) else {},
    )


def _offset(files: CheckpointFiles, name: str, line: str) -> Any:
    return files.json(name, line, "a source's offset")


def _commit(files: CheckpointFiles, name: str) -> int | None:
    lines = files.lines(name, ("v1", "v2"))
    if not lines:
        raise files.fault(name, "the file ends behind its version: the commit's own line is missing")
    found = files.object(name, lines[0], "the commit").get("nextBatchWatermarkMs")
    return None if found is None else files.whole(name, found, "nextBatchWatermarkMs")


def _source_logs(files: CheckpointFiles) -> tuple[dict[tuple[int, int], list[dict[str, Any]]], dict[int, Any]]:
    """What file sources listed for each batch, and where others began. A compacted file tells of all before it too, by
    their numbers."""
    listed: dict[tuple[int, int], list[dict[str, Any]]] = {}
    begins: dict[int, Any] = {}
    for match, number, entries in _entries(files, _SOURCE_FILES):
        source = int(match["source"])
        for entry in entries:
            if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
                begins.setdefault(source, entry)
                continue
            batch = entry.get("batchId", number)
            of_batch = listed.setdefault((source, batch if type(batch) is int else number), [])
            if entry not in of_batch:
                of_batch.append(entry)
    return listed, begins


def _entries(files: CheckpointFiles, pattern: re.Pattern[str]) -> list[tuple[re.Match[str], int, list[Any]]]:
    return [
        (match, int(match["batch"]), [files.json(name, line, "an entry") for line in files.lines(name)])
        for match, name in files.of(pattern)
    ]


def _of_sink(entry: Any) -> dict[str, Any]:
    return entry if isinstance(entry, dict) else {"entry": entry}


def progress(before: Any, offset: Any) -> list[tuple[str, int, int]] | None:
    """(partition, first, records) of an offset that counts records, as Kafka's does; None of one that doesn't."""
    if not isinstance(offset, dict) or not offset:
        return None
    runs = []
    for topic, partitions in offset.items():
        if not isinstance(partitions, dict) or not all(
            type(end) is int and 0 <= end < 1 << 62 for end in partitions.values()
        ):
            return None
        known = before.get(topic, {}) if isinstance(before, dict) else {}
        for partition, end in partitions.items():
            begin = known.get(partition) if isinstance(known, dict) else None
            if type(begin) is int and 0 < end - begin < 1 << 32:
                runs.append((f"{printable(str(topic))}[{printable(str(partition))}]", begin, end - begin))
    return runs
