"""The outsides that the standard library can read, by the scheme of their address."""

from __future__ import annotations

from replay.guarantees.outside.addresses import Reader
from replay.guarantees.outside.files import read_csv, read_json_lines, read_lines, reader_of
from replay.guarantees.outside.kafka_dump import read_kafka_dump
from replay.guarantees.outside.sqlite import open_sqlite

READERS: dict[str, Reader] = {
    "sqlite": open_sqlite,
    "kafka-dump": reader_of(read_kafka_dump),
    "csv": reader_of(read_csv),
    "jsonl": reader_of(read_json_lines),
    "lines": reader_of(read_lines),
}
