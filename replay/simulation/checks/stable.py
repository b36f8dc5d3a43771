"""What the stable storage held, and when: recomputed from the writes that the recording has of every task."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from replay.bundle.frames import read_sendings
from replay.log.deltas import LogIds, decode_message
from replay.model import MAIN, thread_of_output
from replay.simulation.recording import Recording


@dataclass(slots=True)
class Stored:
    """Per task, thread and epoch: (attempt, since when, up to where), in the order of time."""

    growths: dict[tuple[str, str, int], list[tuple[int, int, int]]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, recording: Recording) -> Stored:
        """Reads every attempt's writes; what a later one writes goes on where the earlier one had come to."""
        stored, ids = cls(), LogIds.of(recording.manifest)
        for task in recording.manifest.tasks:
            for attempt in range(recording.attempts(task.id)):
                for _, data in recording.world(task.id, attempt):
                    for _, frame in read_sendings(data):
                        for one in decode_message(frame.delta, ids, recording.manifest.protocol.delta_layout):
                            end = one.offset + len(one.data)
                            stored.growths[task.id, one.log.thread, one.epoch].append((attempt, frame.t_us, end))
        return stored

    def upto(self, task: str, thread: str, epoch: int, t_us: int, since: int = 0) -> int:
        """How much of a log was stable at that time; a rollback makes the storage forget attempts before `since`."""
        growths = self.growths[task, thread, epoch]
        return max((end for attempt, at_us, end in growths if at_us <= t_us and attempt >= since), default=0)


def stable_by(stored: Stored, recording: Recording, task: str, attempt: int, k: int, seq: int, t_us: int) -> str | None:
    """What a buffer that was sent then depended on and was not stable; None where all was."""
    frames = sorted(recording.buffers(task, attempt, k).items())
    cut = dict(frames)[seq]
    main = stored.upto(task, MAIN, cut.main_epoch, t_us)
    if main < cut.main_offset:
        return f"{cut.main_offset - main} bytes of the main log, epoch {cut.main_epoch}"
    thread = thread_of_output(k)
    before = [
        epoch
        for epoch in recording.epochs(task, attempt, MAIN)
        if recording.restored(task, attempt) <= epoch < cut.main_epoch
    ]
    for epoch in before:
        if (length := len(recording.log(task, attempt, MAIN, epoch))) > stored.upto(task, MAIN, epoch, t_us):
            return f"some of the {length} bytes of the main log, epoch {epoch}"
    built = 5 * sum(frame.epoch == cut.epoch for one, frame in frames if one <= seq)
    if (there := stored.upto(task, thread, cut.epoch, t_us)) < built:
        return f"{built - there} bytes of the log of {thread}, epoch {cut.epoch}"
    return None
