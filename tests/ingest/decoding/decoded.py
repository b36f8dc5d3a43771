"""Random logs, some of them damaged, through the columnar decoder and through the codec of `replay`: row for row.

`python -m tests.ingest.decoding.decoded --logs 5000 --first 1000` looks longer than the tests do.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

import numpy as np

from ingest.transforms.decoding import windows
from ingest.transforms.decoding.columns import columns_of
from ingest.transforms.decoding.pieces import Pieces
from ingest.transforms.decoding.windows import Scan, cuts_of
from replay.errors import CorruptMember
from replay.log.codec import decode_all
from tests.ingest.made import random_determinant

VECTORS = Path(__file__).resolve().parents[2] / "vectors" / "determinants.json"
Fault = tuple[int | None, str] | None


def golden() -> list[bytes]:
    return [bytes.fromhex(vector["hex"]) for vector in json.loads(VECTORS.read_text())]


def by_the_codec(data: bytes) -> tuple[list[dict[str, Any]], Fault]:
    """Rows without what is null, and the fault that ends the log."""
    rows: list[dict[str, Any]] = []
    try:
        for seq, (offset, length, one) in enumerate(decode_all(data)):
            values = {name: getattr(one, name) for name in one.__slots__ if getattr(one, name) is not None}
            rows.append({"seq": seq, "offset": offset, "length": length, "kind": one.kind} | values)
    except CorruptMember as fault:
        return rows, (fault.offset, fault.why)
    return rows, None


def pieces_of(logs: list[bytes]) -> Pieces:
    """One log per epoch, one behind the other in the pack."""
    begins = np.cumsum([0, *map(len, logs)])[:-1]
    nothing = [0] * len(logs)
    return Pieces.of(np.array([nothing, nothing, [-1] * len(logs), range(len(logs)), begins, [*map(len, logs)]]))


def by_column(pieces: Pieces, pack: bytes) -> tuple[dict[int, list[dict[str, Any]]], dict[int, Fault]]:
    """The same of each epoch, as the lake gets it."""
    scan = Scan(pieces, lambda at, size: pack[at : at + size])
    rows: dict[int, list[dict[str, Any]]] = {}
    for one in scan.slices():
        columns = {name: column.to_pylist() for name, column in columns_of(one, pieces, ["a.0"]).items()}
        for n in range(len(one)):
            row = {name: values[n] for name, values in columns.items() if values[n] is not None}
            assert [row.pop(name) for name in ("task", "attempt", "thread")] == ["a.0", 0, "main"]
            rows.setdefault(row.pop("epoch"), []).append(row)
    return rows, {int(pieces.epoch[n]): (fault.offset, fault.why) for n, fault in scan.faults}


def random_log(rng: random.Random, special: list[bytes]) -> bytes:
    """All kinds, Java streams among them; some logs are cut short, in some a byte is another one."""
    count = rng.choice((0, 1, 3, 50, 300))
    data = b"".join(rng.choice(special) if rng.random() < 0.1 else random_determinant(rng)[0] for _ in range(count))
    if not data or rng.random() > 0.3:
        return data
    at = rng.randrange(len(data))
    return data[:at] if rng.random() < 0.4 else data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def check(seed: int) -> int:
    """Logs of a seed, in windows, slices and ranges of random sizes; returns how many rows were compared."""
    rng = random.Random(seed)
    windows.WINDOW_BYTES = rng.choice((40, 100, 1000, 1 << 20))
    windows.SLICE_ROWS = rng.choice((3, 17, 200, 4096))
    logs = [random_log(rng, golden()) for _ in range(rng.randrange(1, 12))]
    pack, pieces = b"".join(logs), pieces_of(logs)
    if rng.random() < 0.5:
        every = rng.choice((10, 200))
        members = [pieces.some(slice(n, n + 1)) for n in range(len(pieces))]
        pieces = Pieces.joined(one.cut(cuts_of(one, lambda at, size: pack[at : at + size], every)) for one in members)
    rows, faults = by_column(pieces, pack)
    for epoch, data in enumerate(logs):
        expected, fault = by_the_codec(data)
        assert rows.get(epoch, []) == expected, f"seed {seed}, log {epoch}"
        assert faults.get(epoch) == fault, f"seed {seed}, log {epoch}"
    return sum(map(len, rows.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=5000, help="how many seeds")
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    rows = sum(check(seed) for seed in range(asked.first, asked.first + asked.logs))
    print(json.dumps({"seeds": asked.logs, "rows": rows, "apart": 0}))


if __name__ == "__main__":
    main()
