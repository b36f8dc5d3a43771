"""The nodes, logs and messages of Clonos' vectors, in our words."""

import json
from pathlib import Path

from replay.log.deltas import LogIds, WireId
from replay.model import LogId

VECTORS = Path(__file__).parents[2] / "vectors"


def wire_id(log):
    """The name of a log in a vector, as it stands on the wire."""
    if log["main_thread"]:
        return WireId(log["vertex"])
    return WireId(log["vertex"], (log["partition_lower"], log["partition_upper"]), log["subpartition"])


def log_id(log):
    """The same log in our words: one task per vertex, one thread per subpartition."""
    return LogId(f"v{log['vertex']}.0", "main" if log["main_thread"] else f"out-{log['subpartition']}")


def scenarios():
    return json.loads((VECTORS / "deltas.json").read_text())["scenarios"]


def ids_of(scenario):
    """Every log of every node; vertices with two partitions count their threads on."""
    ids = {}
    for node in scenario["nodes"]:
        for task in node["tasks"]:
            ids[LogId(f"v{task['vertex']}.0", "main")] = WireId(task["vertex"])
            k = 0
            for partition in task["partitions"]:
                pair = (partition["partition_lower"], partition["partition_upper"])
                for sub in range(partition["num_subpartitions"]):
                    ids[LogId(f"v{task['vertex']}.0", f"out-{k}")] = WireId(task["vertex"], pair, sub)
                    k += 1
    return LogIds(ids)


def entries_of(decoded):
    """What a vector says that a message holds: {(wire id, epoch, offset, bytes)}."""
    found = set()
    for entry in decoded["entries"]:
        if "main_thread" in entry:
            found.add(_entry(wire_id(entry), decoded["epoch"], entry))
            continue
        if entry["has_main_thread_delta"]:
            found.add(_entry(WireId(entry["vertex"]), decoded["epoch"], entry["main"]))
        for partition in entry["partitions"]:
            pair = (partition["partition_lower"], partition["partition_upper"])
            for sub in partition["subpartitions"]:
                found.add(_entry(WireId(entry["vertex"], pair, sub["subpartition"]), decoded["epoch"], sub))
    return found


def _entry(wire, epoch, fields):
    data = bytes.fromhex(fields["delta_hex"])
    assert len(data) == fields["length"]
    return wire, epoch, fields["offset_from_epoch"], data
