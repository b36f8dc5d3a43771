"""Walks a log without executing anything: what is left where a recording lacks buffers, snapshot or operator."""

from __future__ import annotations

from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.answers import Bringers
from replay.debugger.recorded.lineage import Lineage
from replay.debugger.recorded.logs import Logs, check_decodable
from replay.debugger.recorded.scene import Scene, own_logs
from replay.debugger.recorded.story import Story
from replay.debugger.writing.steps import StepWriter
from replay.debugger.writing.words import said
from replay.log.codec import decode_all
from replay.log.determinants import Order, is_async
from replay.model import Task


def walk_log(logs: Logs, shape: Task, lineage: Lineage, steps: StepWriter, bringers: Bringers) -> None:
    """A step per determinant, thread by thread and epoch by epoch."""
    for thread in (one for one in shape.threads if one in logs):
        for epoch, data in sorted(logs[thread].items()):
            steps.epoch, steps.record_count = epoch, 0
            for number, (offset, length, determinant) in enumerate(decode_all(data)):
                if is_async(determinant):
                    steps.record_count = determinant.record_count
                upstream = ""
                if isinstance(determinant, Order) and determinant.channel < len(shape.inputs):
                    upstream = f" ({shape.inputs[determinant.channel].partition('>')[0]})"
                step = steps.write(
                    "fire-async" if is_async(determinant) else "take-determinant",
                    f"The log says that {said(determinant)}{upstream}: determinant {number:,} of epoch {epoch}, "
                    f"which is read and not executed.",
                    actor=thread,
                    causes=(
                        lineage.cause(thread, epoch, number, offset),
                        *bringers.cause(shape.id, thread, epoch, offset),
                        *steps.caused_by("merge"),
                    ),
                    log=thread,
                    log_offset=offset,
                    size=length,
                )
                steps.took(step, determinant)


def walk_own_log(source: RecordingSource, story: Story, scene: Scene, steps: StepWriter) -> None:
    """What an attempt appended itself, from the checkpoint that it restored on."""
    logs = own_logs(source, scene.task, scene.attempt, from_epoch=story.checkpoint_of(scene.task, scene.attempt))
    shape = source.graph.task(scene.task)
    check_decodable(logs, f"the log of attempt {scene.attempt} of {scene.task}", shape.counted_inputs)
    walk_log(logs, shape, Lineage(source, scene.task, (scene.attempt,)), steps, Bringers())
