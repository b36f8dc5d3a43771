"""What a determinant says, in the words of a page: `channel 1 (auctions.3)` instead of a number."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dashboard import measures
from dashboard.queries.determinants import Determinant
from ingest.lake.sealing import SIGN
from replay.model import Protocol, Task

TEXT_SHOWN = 120
YEAR_MS = 366 * 86_400_000
_CALL_HEADER_BYTES = 8
_NO_SITES: Mapping[int, str] = {}


def outside(protocol: Protocol) -> str:
    """The holder of determinants that is no task."""
    return "the stable storage" if protocol.in_storage else "the world outside"


def described(
    row: Determinant, task: Task | None, origin_ms: int | None = None, sites: Mapping[int, str] = _NO_SITES
) -> tuple[str, str]:
    """The fact, and what stands beside it more faintly. `sites`: lines of source by their numbers."""
    return _described(row.kind, vars_of(row), task, origin_ms, sites)


def described_row(
    row: dict[str, Any] | None,
    task: Task | None,
    origin_ms: int | None = None,
    sites: Mapping[int, str] = _NO_SITES,
) -> tuple[str, str]:
    """The same of a row as the lake gives it, its bytes in hex; nothing where the lake does not hold it."""
    if row is None:
        return "", ""
    return _described(row["kind"], {**row, "payload": _bytes_of(row)}, task, origin_ms, sites)


def site_of(row: Determinant | dict[str, Any]) -> int | None:
    """The number of the line that asked, where the determinant names one."""
    payload = row.payload if isinstance(row, Determinant) else _bytes_of(row)
    call = _call_in(payload) if isinstance(payload, bytes) else None
    site = call.get("site") if call else None
    return site if type(site) is int and 0 <= site < 1 << 31 else None


def _bytes_of(row: dict[str, Any]) -> Any:
    payload = row.get("payload")
    return payload if payload == SIGN else bytes.fromhex(payload) if payload else b""


def vars_of(row: Determinant) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__slots__}


def _described(
    kind: str, row: dict[str, Any], task: Task | None, origin_ms: int | None, sites: Mapping[int, str]
) -> tuple[str, str]:
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
            return _payload(row["payload"] or b"", sites)
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
            first, records = measures.count(row["first_offset"]), row["records"]
            return f"record {first}" if records == 1 else f"{measures.count(records)} records from {first}", where
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


def _payload(payload: bytes, sites: Mapping[int, str]) -> tuple[str, str]:
    """Calls by name and value; anything else by its size. Nothing is deserialized but JSON."""
    call = _call_in(payload)
    if call is not None:
        return _call(call, sites)
    kind = "Java object" if payload[:2] == b"\xac\xed" else "object"
    return f"{kind} of {measures.count(len(payload))} bytes", ""


def _call_in(payload: bytes) -> dict[str, Any] | None:
    if payload[:2] != b"CL" or len(payload) < _CALL_HEADER_BYTES - 1 or payload[2] != 3:
        return None
    try:
        call = json.loads(payload[7:])
    except ValueError:
        return None
    return call if isinstance(call, dict) else None


def _call(call: dict[str, Any], sites: Mapping[int, str]) -> tuple[str, str]:
    result = json.dumps(call.get("value", call.get("raised")), ensure_ascii=False)
    name, site, effect = call.get("name", call.get("call", "call")), call.get("site"), call.get("effect")
    did = "raised" if "raised" in call else "gave"
    # What writes outside is done at least once, whatever is logged: worth a word beside every such call.
    beside = ["writes outside"] if effect == "write" else []
    if site is not None:
        beside.append((sites.get(site) if type(site) is int else None) or f"site {site}")
    return f"{_short(str(name))} {did} {_short(result)}", ", ".join(beside)


def _short(text: str) -> str:
    return text if len(text) <= TEXT_SHOWN else f"{text[:TEXT_SHOWN]}…"
