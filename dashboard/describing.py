"""What a determinant says, in the words of a page: `channel 1 (auctions.3)` instead of a number."""

from __future__ import annotations

import json
from typing import Any

from dashboard import measures
from dashboard.queries.determinants import Determinant
from ingest.lake.sealing import SIGN
from replay.model import Protocol, Task

TEXT_SHOWN = 120
YEAR_MS = 366 * 86_400_000
_CALL_HEADER_BYTES = 8


def outside(protocol: Protocol) -> str:
    """The holder of determinants that is no task."""
    return "the stable storage" if protocol.in_storage else "the world outside"


def described(row: Determinant, task: Task | None, origin_ms: int | None = None) -> tuple[str, str]:
    """The fact, and what stands beside it more faintly."""
    return _described(row.kind, vars_of(row), task, origin_ms)


def described_row(row: dict[str, Any] | None, task: Task | None, origin_ms: int | None = None) -> tuple[str, str]:
    """The same of a row as the lake gives it, its bytes in hex; nothing where the lake does not hold it."""
    if row is None:
        return "", ""
    payload = row.get("payload")
    known = payload if payload == SIGN else bytes.fromhex(payload) if payload else b""
    return _described(row["kind"], {**row, "payload": known}, task, origin_ms)


def vars_of(row: Determinant) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__slots__}


def _described(kind: str, row: dict[str, Any], task: Task | None, origin_ms: int | None) -> tuple[str, str]:
    if SIGN in (row.get("value"), row.get("payload")):
        return SIGN, ""
    match kind:
        case "order":
            return f"channel {row['channel']}", _source_of(row["channel"], task)
        case "timestamp":
            return str(row["value"]), _since(row["value"], origin_ms)
        case "rng":
            return str(row["value"]), ""
        case "serializable":
            return _payload(row["payload"] or b"")
        case "timer-trigger":
            return (
                f"{_short(row['callback'])} at record {measures.count(row['record_count'])}",
                f"for {row['timestamp']}",
            )
        case "source-checkpoint" | "ignore-checkpoint":
            beside = (row["checkpoint_type"] or "") if kind == "source-checkpoint" else "ignored"
            return f"checkpoint {row['checkpoint']} at record {measures.count(row['record_count'])}", beside
        case "buffer-built":
            return f"{measures.count(row['buffer_bytes'])} bytes", ""
        case "take":
            where = _source_of(row["channel"], task)
            return f"{measures.count(row['records'])} from offset {measures.count(row['first_offset'])}", where
    return kind, ""


def _since(value_ms: int, origin_ms: int | None) -> str:
    """A clock's value as time since the job's start, where it can be one."""
    if origin_ms is None or not 0 <= value_ms - origin_ms < YEAR_MS:
        return ""
    return measures.moment((value_ms - origin_ms) * 1000)


def _source_of(channel: int | None, task: Task | None) -> str:
    if task is None or channel is None:
        return ""
    named = task.inputs if task.inputs else task.partitions
    if channel >= len(named):
        return "no such input"
    return str(named[channel]).partition(">")[0]


def _payload(payload: bytes) -> tuple[str, str]:
    """Calls by name and value; anything else by its size. Nothing is deserialized but JSON."""
    if payload[:2] == b"CL" and len(payload) >= _CALL_HEADER_BYTES - 1 and payload[2] == 3:
        try:
            call = json.loads(payload[7:])
        except ValueError:
            call = None
        if isinstance(call, dict):
            return _call(call)
    kind = "Java object" if payload[:2] == b"\xac\xed" else "object"
    return f"{kind} of {measures.count(len(payload))} bytes", ""


def _call(call: dict[str, Any]) -> tuple[str, str]:
    result = json.dumps(call.get("value", call.get("raised")), ensure_ascii=False)
    name, site, effect = call.get("name", call.get("call", "call")), call.get("site"), call.get("effect")
    did = "raised" if "raised" in call else "gave"
    beside = [f"site {site}"] if site is not None else []
    # What writes outside is done at least once, whatever is logged: worth a word beside every such call.
    beside += ["writes outside"] if effect == "write" else []
    return f"{_short(str(name))} {did} {_short(result)}", ", ".join(beside)


def _short(text: str) -> str:
    return text if len(text) <= TEXT_SHOWN else f"{text[:TEXT_SHOWN]}…"
