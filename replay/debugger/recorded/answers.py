"""What each holder answered, byte by byte, as of the moment it answered: from the deltas that had reached it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from replay.causality.holders import Growth, Holders, holders
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Event, Story, extents_of
from replay.errors import CorruptRecording
from replay.log.causal_log import Copy
from replay.model import TaskId, Thread
from replay.recovery import Logs


@dataclass(slots=True)
class Answers:
    """Rebuilds answers of a recording. Holders of each task are derived once."""

    source: RecordingSource
    story: Story
    _known: dict[str, Holders] = field(default_factory=dict)

    def holders_of(self, task: str) -> Holders:
        """How a task's logs spread; a delta that can't be followed is a divergence."""
        if task not in self._known:
            found = holders(self.source, TaskId(task))
            for fault in found.faults:
                raise DivergenceFound(
                    f"The deltas of {task}'s logs can't be followed on {fault.channel} at buffer {fault.seq}: "
                    f"{fault.why}",
                    channel=fault.channel,
                    buffer=fault.seq,
                    why=fault.why,
                )
            self._known[task] = found
        return self._known[task]

    def held_by(self, holder: str, attempt: int, of: TaskId, epoch: int, t_us: int) -> Logs:
        """What a task's own causal log held of another's at a time."""
        copies = self.holders_of(of).held_at(TaskId(holder), attempt, t_us, from_epoch=epoch)
        return Logs.of(copy for copy in copies if copy.data)

    def returned(self, received: Event) -> Logs:
        """The logs of a `determinants-received` event, cut to the extents that it records."""
        answer = self._answer_of(received)
        extents = extents_of(received)
        if not extents:
            return Logs()
        if answer is None:
            raise Missing(
                f"Event {received.get('n')} says that determinants came back on {received.get('channel')}, but the "
                f"recording does not tell who answered (no determinants-returned event).",
                event=received.get("n"),
            )
        derived = {(copy.log.thread, copy.epoch): copy for copy in self._merged(answer)}
        self._check_derivable(derived, extents, answer)
        return Logs.of(
            Copy(derived[thread, epoch].holder, derived[thread, epoch].log, epoch, derived[thread, epoch].data[:upto])
            for _, thread, epoch, upto in extents
            if upto
        )

    def _answer_of(self, received: Event) -> Event | None:
        """The `determinants-returned` event that a `determinants-received` is the arrival of."""
        answer = self.story.by_number.get(received.get("re", -1))
        if answer is not None and answer.get("type") == "determinants-returned":
            return answer
        same = ("of", "channel")
        found = [
            event
            for event in self.story.by_number.values()
            if event.get("type") == "determinants-returned"
            and event["n"] < received["n"]
            and all(event.get(key) == received.get(key) for key in same)
        ]
        return found[-1] if found else None

    def _merged(self, answer: Event) -> Logs:
        """A holder's own copy, and what it had been answered itself if it was a relay."""
        holder, attempt, of = str(answer.get("at")), answer.get("attempt"), str(answer.get("of"))
        if not isinstance(attempt, int) or of not in self.source.graph:
            raise DivergenceFound(
                f"Event {answer.get('n')} does not say which attempt of {holder} answered for which task.",
                event=answer.get("n"),
                member="events.ndjson",
            )
        own = self.holders_of(of).held_at(TaskId(holder), attempt, int(answer["t_us"]))
        parts = [copy for copy in own if copy.data]
        for event in self.story.of_attempt.get((holder, attempt), ()):
            relayed = event.get("type") == "determinants-received" and event.get("of") == of != holder
            if relayed and event["n"] < answer["n"]:
                parts.extend(self.returned(event))
        try:
            return Logs.of(parts)
        except CorruptRecording as fault:
            raise disagreeing(fault) from None

    def _check_derivable(
        self, derived: Mapping[tuple[Thread, int], Copy], extents: list[tuple[str, Thread, int, int]], answer: Event
    ) -> None:
        of = str(answer.get("of"))
        for task, thread, epoch, upto in extents:
            copy = derived.get((thread, epoch))
            length = len(copy.data) if copy else 0
            if task == of and upto <= length:
                continue
            lacking = self._lacking_deltas(of)
            if lacking:
                raise Missing(
                    f"The recording lacks the deltas that carried the logs of {of} (no {lacking}), so what "
                    f"{answer.get('at')} returned can't be told byte by byte.",
                    holder=answer.get("at"),
                )
            raise DivergenceFound(
                f"Event {answer.get('n')} says that {answer.get('at')} returned {upto} bytes of {thread}, epoch "
                f"{epoch}, of {task}, but the deltas that had reached it by then hold {length}.",
                holder=answer.get("at"),
                event=answer.get("n"),
                thread=thread,
                epoch=epoch,
                offset=min(upto, length),
                asked=f"{upto} bytes",
                logged=f"{length} bytes",
            )

    def _lacking_deltas(self, of: str) -> str:
        """Which of the members that a delta leaves on its way are not there at all."""
        below = self.source.graph.all_downstream(of)
        names = list(self.source.members.names("tasks/"))
        if not any(name.endswith(".dlt") and name.split("/")[1] == of for name in names):
            return f".dlt members under tasks/{of}/"
        if not any(name.endswith(".rcv") and name.split("/")[1] in below for name in names):
            return f".rcv members of the tasks below {of}"
        return ""


@dataclass(slots=True)
class Bringers:
    """Which delta brought which byte of a returned log to the holder that returned it, and the step of its answer."""

    ends: dict[tuple[Thread, int], list[int]] = field(default_factory=dict)
    growths: dict[tuple[Thread, int], list[Growth]] = field(default_factory=dict)
    answers: dict[tuple[Thread, int], int] = field(default_factory=dict)

    @classmethod
    def of(cls, found: Holders, logs: Logs, t_us: int) -> Bringers:
        """For the copies that won the merge, as they had grown until a time."""
        bringers = cls()
        for copy in logs:
            of_log = [
                one
                for one in found.growths
                if one.holder == copy.holder
                and (one.thread, one.epoch) == (copy.log.thread, copy.epoch)
                and one.t_us <= t_us
            ]
            attempt = max((one.holder_attempt for one in of_log), default=0)
            shortened = [one for one in found.shortened(copy.holder, attempt) if one.t_us <= t_us]
            grown: list[Growth] = []
            for one in of_log:
                while shortened and shortened[0].t_us < one.t_us:
                    grown = _shortened(grown, shortened.pop(0).upto.get((one.thread, one.epoch), 0))
                if one.holder_attempt == attempt and (not grown or one.upto > grown[-1].upto):
                    grown.append(one)
            for last in shortened:
                grown = _shortened(grown, last.upto.get((copy.log.thread, copy.epoch), 0))
            bringers.ends[copy.log.thread, copy.epoch] = [one.upto for one in grown]
            bringers.growths[copy.log.thread, copy.epoch] = grown
        return bringers

    def of_byte(self, thread: Thread, epoch: int, offset: int) -> Growth | None:
        """The growth that brought the byte at that offset."""
        ends = self.ends.get((thread, epoch))
        if not ends:
            return None
        at = bisect_left(ends, offset + 1)
        return self.growths[thread, epoch][at] if at < len(ends) else None

    def cause(self, task: TaskId, thread: Thread, epoch: int, offset: int) -> tuple[str, ...]:
        """That delta and that answer, as causes."""
        if not self.ends:
            return ()
        growth, answer = self.of_byte(thread, epoch, offset), self.answers.get((thread, epoch))
        told = () if answer is None else (f"step:{answer}",)
        return told if growth is None else (f"delta:{growth.channel}#{growth.seq}/{task}/{thread}", *told)


def _shortened(grown: list[Growth], upto: int) -> list[Growth]:
    """Only what brought the first so many bytes."""
    kept = [one for one in grown if one.upto <= upto]
    if len(kept) < len(grown) and upto > (kept[-1].upto if kept else 0):
        kept.append(replace(grown[len(kept)], upto=upto))
    return kept


def disagreeing(fault: CorruptRecording) -> DivergenceFound:
    """Two holders whose copies contradict one another, as a result."""
    return DivergenceFound(
        f"Two holders contradict one another: {fault.why}.",
        holders=list(fault.holders),
        offset=fault.offset,
        why=fault.why,
    )


def check_prefix_of_lineage(source: RecordingSource, task: TaskId, lineage: tuple[int, ...], logs: Logs) -> None:
    """What came back is the beginning of what the attempts before had appended.

    The latest attempt that came so far counts: what an earlier one appended beyond its successor's recovery was lost.
    """
    for copy in logs:
        for attempt in lineage:
            own = source.log_bytes(task, attempt, copy.log.thread, copy.epoch)
            if not own.startswith(copy.data[: len(own)]):
                raise _not_what_was_appended(task, attempt, copy, own)
            if len(own) >= len(copy.data):
                break
        else:
            where = f"tasks/{task}/{lineage[-1]}/{copy.log.thread}/{copy.epoch}.det"
            raise Missing(
                f"The recording lacks {where}, or its end, so what {copy.holder} returned can't be compared with what "
                f"was lost.",
                member=where,
            )


def _not_what_was_appended(task: TaskId, attempt: int, copy: Copy, own: bytes) -> DivergenceFound:
    where = f"tasks/{task}/{attempt}/{copy.log.thread}/{copy.epoch}.det"
    at = first_difference(own, copy.data)
    return DivergenceFound(
        f"{copy.holder} returned {len(copy.data)} bytes of {copy.log}, epoch {copy.epoch}, which differ at byte {at} "
        f"from what the task itself had appended ({where}).",
        member=where,
        holder=copy.holder,
        thread=copy.log.thread,
        epoch=copy.epoch,
        offset=at,
        asked=own[at : at + 8].hex(),
        logged=copy.data[at : at + 8].hex(),
    )


def first_difference(one: bytes, other: bytes) -> int:
    """Where two byte strings part; the shorter one's length where they agree so far."""
    size, start = min(len(one), len(other)), 0
    while start < size and one[start : start + 4096] == other[start : start + 4096]:
        start += 4096
    return next((i for i in range(start, size) if one[i] != other[i]), size)
