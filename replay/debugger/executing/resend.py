"""The steps of rebuilt buffers that go out again to a receiver that asked for them."""

from __future__ import annotations

from replay.debugger.executing.comparison import Comparison
from replay.debugger.ports import BufferRow, RecordingSource
from replay.debugger.recorded.members import placed_buffers
from replay.debugger.recorded.scene import Scene
from replay.debugger.together.exchange import Exchange
from replay.debugger.writing.steps import StepWriter
from replay.debugger.writing.words import bytes_of
from replay.model import thread_of_output
from replay.recovery import ReplayInFlight


def write_resends(
    source: RecordingSource,
    scene: Scene,
    steps: StepWriter,
    comparison: Comparison,
    effect: ReplayInFlight,
    causes: tuple[str, ...],
    exchange: Exchange | None = None,
) -> None:
    """One step per rebuilt buffer of the in-flight log from the asked epoch on, but for the first `skip` of them."""
    channel = source.graph.channel(effect.channel)
    skipped = 0
    for placed in placed_buffers(source, scene.task, scene.attempt, channel.k, from_epoch=effect.epoch):
        frame = placed.frame
        if not frame.held_back:
            break
        if skipped < effect.skip:
            skipped += 1
            continue
        step = steps.write(
            "send-buffer",
            f"Sends buffer {frame.seq} of {channel.id} from the in-flight log, {bytes_of(len(frame.payload))}: "
            f"{channel.target} asked for it.",
            actor=thread_of_output(channel.k),
            causes=causes,
            channel=channel.id,
            buffer=frame.seq,
            size=len(frame.payload),
        )
        if exchange is not None:
            exchange.was_sent(channel.id, scene.attempt, frame.seq, step)
        received = comparison.was_received(channel.k, frame.seq)
        row = BufferRow(step, scene.task, channel.id, frame.seq, len(frame.payload), received, True)
        steps.sink.buffer(row)
