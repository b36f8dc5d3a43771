"""Dumps of Kafka's topics: what `kcat -J` writes, and what the console consumer does when it prints places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from replay.guarantees.outside.files import Lines, fault_in, json_of
from replay.guarantees.outside.mapping import opened
from replay.guarantees.outside.rows import Row

_MOST = 1 << 62
_CONSOLE = re.compile(
    r"(?:(?:CreateTime|LogAppendTime):(-?\d{1,18})\t|NoTimestampType\t)?"
    r"Partition:(\d{1,9})\tOffset:(\d{1,18})\t(?:([^\t]*)\t)?([^\t]*)",
    re.ASCII,
)
_REMEDY = (
    "Write the dump with kcat -C -e -J -t TOPIC, or with kafka-console-consumer and print.partition=true, "
    "print.offset=true, print.key=true"
)


def read_kafka_dump(path: Path, lines: Lines) -> Iterator[Row]:
    """A message a line. What stands at one place of a topic is one message, however often it was dumped."""
    for number, text in lines:
        if text.strip():
            yield _of_json(path, number, text) if text.lstrip()[0] == "{" else _of_console(path, number, text)


def _of_json(path: Path, number: int, text: str) -> Row:
    found = json_of(path, number, text)
    topic, partition, offset = (found.get(name) for name in ("topic", "partition", "offset"))
    if type(partition) is not int or type(offset) is not int or not 0 <= partition < _MOST or not 0 <= offset < _MOST:
        raise fault_in(path, number, "a message has an integer partition and offset", _REMEDY)
    if topic is not None and not isinstance(topic, str):
        raise fault_in(path, number, "a topic is a text", _REMEDY)
    value = found.get("payload", found.get("value"))
    return _row(topic or "", partition, offset, found.get("key"), value, found.get("ts"), _headers(found))


def _headers(found: Mapping[str, Any]) -> dict[str, Any]:
    """kcat has names and values in turn."""
    told = found.get("headers")
    if isinstance(told, Mapping):
        return dict(told)
    if isinstance(told, list):
        return {str(name): value for name, value in zip(told[::2], told[1::2], strict=False)}
    return {}


def _of_console(path: Path, number: int, text: str) -> Row:
    found = _CONSOLE.fullmatch(text)
    if found is None:
        raise fault_in(path, number, "it is no message with its partition and offset", _REMEDY)
    timestamp, partition, offset, key, value = found.groups()
    if key == "null":
        key = None
    return _row("", int(partition), int(offset), key, value, None if timestamp is None else int(timestamp), {})


def _row(topic: str, partition: int, offset: int, key: Any, value: Any, timestamp: Any, headers: dict[str, Any]) -> Row:
    where = f"{topic}[{partition}]#{offset}"
    fields = {"key": key, "value": value, "topic": topic, "partition": partition, "offset": offset}
    fields |= {"timestamp": timestamp, "headers": headers}
    return Row(where, fields, {"key": key, "value": opened(value)}, where)
