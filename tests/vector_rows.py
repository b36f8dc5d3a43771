"""The golden determinants as members of a bundle, and the rows of `determinants` that they must become."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).resolve().parent / "vectors"

KINDS = {
    "Order": "order",
    "Timestamp": "timestamp",
    "RNG": "rng",
    "Serializable": "serializable",
    "TimerTrigger": "timer-trigger",
    "SourceCheckpoint": "source-checkpoint",
    "IgnoreCheckpoint": "ignore-checkpoint",
    "BufferBuilt": "buffer-built",
}


def expected_row(vector: dict[str, Any], data: bytes) -> dict[str, Any]:
    """A vector as a row of `determinants`, from its own decoded fields. Clonos reads channels as signed, we don't."""
    row = {"kind": KINDS[vector["kind"]], "length": vector["size"]}
    match vector["kind"]:
        case "Order":
            row["channel"] = vector["channel"] % 256
        case "Timestamp":
            row["value"] = vector["timestamp"]
        case "RNG":
            row["value"] = vector["number"]
        case "Serializable":
            row["payload"] = data[1:]
        case "TimerTrigger":
            name = vector["callback_name"]
            names = {"WATERMARK": "watermark", "IDLE": "idle", "LATENCY": "latency", "INTERNAL": f"internal:{name}"}
            stem = vector["callback_type"].removeprefix("TIMESTAMP_").lower().replace("_", "-")
            row["callback"] = names.get(vector["callback_type"]) or (
                "timestamp-extractor" if stem == "extractor" else stem
            )
            row |= {"record_count": vector["record_count"], "timestamp": vector["timestamp"]}
        case "SourceCheckpoint":
            row |= {"record_count": vector["record_count"], "checkpoint": vector["checkpoint_id"]}
            row |= {"timestamp": vector["checkpoint_timestamp"], "checkpoint_type": vector["checkpoint_type"].lower()}
            if vector["storage_reference_hex"] is not None:
                row["storage_ref"] = bytes.fromhex(vector["storage_reference_hex"])
        case "IgnoreCheckpoint":
            row |= {"record_count": vector["record_count"], "checkpoint": vector["checkpoint_id"]}
        case "BufferBuilt":
            row["buffer_bytes"] = vector["number_of_bytes"]
    return row


def members_and_rows() -> tuple[dict[str, bytes], list[dict[str, Any]]]:
    """One member per vector, all of one task's main log; the rows in their order, without task, attempt and thread."""
    vectors = json.loads((VECTORS / "determinants.json").read_text())
    streams = json.loads((VECTORS / "streams.json").read_text())
    assert len(vectors) >= 109
    assert len(streams) >= 10
    members, expected = {}, []
    for epoch, vector in enumerate(vectors):
        data = bytes.fromhex(vector["hex"])
        members[f"tasks/map-1.0/0/main/{epoch}.det"] = data
        expected.append({"epoch": epoch, "seq": 0, "offset": 0} | expected_row(vector, data))
    for epoch, stream in enumerate(streams, start=len(vectors)):
        data = bytes.fromhex(stream["hex"])
        members[f"tasks/map-1.0/0/main/{epoch}.det"] = data
        assert stream["count"] == len(stream["decoded"])
        for seq, vector in enumerate(stream["decoded"]):
            slice_ = data[vector["offset"] : vector["offset"] + vector["size"]]
            expected.append({"epoch": epoch, "seq": seq, "offset": vector["offset"]} | expected_row(vector, slice_))
    return members, expected
