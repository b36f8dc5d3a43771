"""Pessimistic logging: no buffer leaves before what it follows from is stable, and nobody is ever rolled back."""

from __future__ import annotations

from collections.abc import Iterator

from replay.simulation.checks import buffers, logs, sinks, states
from replay.simulation.checks.stable import Stored, stable_by
from replay.simulation.recording import Recording


def what_leaves_is_stable(recording: Recording) -> Iterator[str]:
    """Of every sending, recomputed from the writes to the storage: the main log up to the cut, and the cut itself."""
    stored = Stored.of(recording)
    for channel in recording.graph.channels:
        for attempt in range(recording.attempts(channel.source)):
            for frame in recording.sendings(channel.source, attempt, channel.k):
                lacking = stable_by(stored, recording, channel.source, attempt, channel.k, frame.seq, frame.t_us)
                if lacking is not None:
                    yield f"{channel.id}: buffer {frame.seq} left before {lacking} was stable"
                if frame.delta:
                    yield f"{channel.id}: buffer {frame.seq} carries {len(frame.delta)} bytes of determinants"


def nobody_is_rolled_back(recording: Recording) -> Iterator[str]:
    """Only failed tasks begin again, and none of them asks another task."""
    for one in recording.events:
        if one["type"] in ("global-rollback", "escalated"):
            yield f"event {one['n']} is of a rollback"
        if one["type"] == "determinants-requested" and not one["channel"].endswith(">world"):
            yield f"event {one['n']}: {one['at']} asks {one['channel']}"


CHECKS = (
    what_leaves_is_stable,
    nobody_is_rolled_back,
    *logs.EXACT,
    *buffers.EXACT,
    *states.EXACT,
    *sinks.EXACT,
)
