"""Steps shaped like those of a replay, as many as are asked for.

A record is delivered, reads the clock, logs it again and writes one record; buffers are taken and held back, state
changes, epochs pass.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ingest.lake.steps import ParquetStepSink
from replay.debugger.ports import BufferRow, StepRow, step_of

RECORDS_A_BUFFER = 40
RECORDS_AN_EPOCH = 50_000
KEYS = 1_000


def write(folder: Path, steps: int) -> None:
    sink = ParquetStepSink(folder)
    record = 0
    while sink.steps < steps:
        for row, causes in _of_record(sink, record):
            sink.step(step_of(row, causes))
        record += 1
    sink.finish()


def _of_record(sink: ParquetStepSink, n: int) -> list[tuple[StepRow, list[str]]]:
    """The steps of one record and their causes, and what stands beside them."""
    epoch, count, buffer = n // RECORDS_AN_EPOCH, n % RECORDS_AN_EPOCH + 1, n // RECORDS_A_BUFFER
    channel, t_us, first = f"auctions.{buffer % 4}>join.2", 1_500_000 + n * 3, sink.steps
    rows: list[tuple[StepRow, list[str]]] = []

    def step(kind: str, text: str, actor: str = "main", **more: Any) -> int:
        number = first + len(rows)
        state = "Replaying" if n < 0.9 * 250_000 else "Running"
        place = (None if more.get("log") is None else "main", None, more.get("channel"), more.get("buffer"))
        row = StepRow(number, "join.2", actor, kind, state, epoch, count, t_us, *place, more.get("bytes"), text)
        rows.append((row, []))
        return number

    if n % RECORDS_A_BUFFER == 0:
        taken = step(
            "take-determinant", f"The log says that the next buffer came from channel {buffer % 4}.", log="main"
        )
        sink.taken(taken, "join.2", "order", buffer % 4, None)
        step("take-buffer", f"Takes buffer {buffer} of {channel}.", channel=channel, buffer=buffer, bytes=32_768)
    delivered = step(
        "deliver-record", f"Processes record {count}, key k{n % KEYS} of buffer {buffer}.", channel=channel
    )
    rows[-1][1].append(f"step:{max(0, delivered - 1)}")
    sink.state_changes(delivered, "join.2", [(f"left[{n % KEYS}]", str(n // KEYS), str(n // KEYS + 1))])
    taken = step("take-determinant", f"The log says that the clock read {1_600_000_000_000 + n}.", log="main", bytes=9)
    sink.taken(taken, "join.2", "timestamp", 1_600_000_000_000 + n, None)
    step("append", f"Appends it again: timestamp at offset {count * 9} of the main log.", log="main", bytes=9)
    output = f"join.2>sink.{buffer % 5}"
    step("write-record", f"Writes a record with key k{n % KEYS} to {output}.", channel=output, bytes=100 + n % 50)
    if n % RECORDS_A_BUFFER == RECORDS_A_BUFFER - 1:
        cut = step("cut-buffer", f"Cuts buffer {buffer} of {output}.", actor="out-0", channel=output, buffer=buffer)
        held = step(
            "hold-back", f"Buffer {buffer} of {output} is held back.", channel=output, buffer=buffer, bytes=5_000
        )
        rows[-1][1].append(f"step:{cut}")
        sink.buffer(BufferRow(held, "join.2", output, buffer, 5_000, True, True))
    return rows
