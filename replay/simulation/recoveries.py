"""What kind of recovery each failure of a world got, counted out from its records, and held against what an audit says.

Of worlds in which one record comes out for each that goes in, and there is one way for it: there a record is known by
its lineage, and nobody is given one twice unless something was repeated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.reader import Bundle
from replay.errors import PoolExhausted, WrongSetting
from replay.guarantees.claims import Section
from replay.guarantees.recovery_types import recovery_types
from replay.jobs.churn import TIMER_KEY
from replay.model import Channel
from replay.runtime.body.records import RecordReader
from replay.simulation.checks import is_shaped
from replay.simulation.checks.outside import counted
from replay.simulation.fleet import side_by_side
from replay.simulation.recording import Recording
from replay.simulation.refusals import roomier
from replay.simulation.world import World

_BLOCK = 20
_NOT_TOLD = ("precise", "superseded", "undecided")


@dataclass(frozen=True, slots=True)
class Held:
    """One world's audit against what is so; no faults is good."""

    seed: int
    types: Counter[str]
    faults: tuple[str, ...]


def recoveries_of(seed: int) -> Held:
    """Runs the world of a seed, with more room where it asks for some, and holds its audit against what is so."""
    world = World.random(seed)
    try:
        recording = world.run()
    except (PoolExhausted, WrongSetting) as fault:
        world = World(roomier(world.plan, fault))
        recording = world.run()
    bundle = Bundle(MembersInMemory({name: bytes(data) for name, data in world.members.members.items()}))
    section = recovery_types(bundle)
    told = [(str(one["task"]), str(one["type"])) for one in section.numbers["failures"]]
    faults = (f"{fault} ({world.reproduce_with})" for fault in (*_faults(recording, told), *_open(section)))
    return Held(seed, Counter(name for _, name in told), tuple(faults))


def all_recoveries(seeds: Sequence[int], *, processes: int = 1) -> Iterator[Held]:
    """Of many worlds, in their order."""
    return side_by_side(_block, seeds, processes=processes, block=_BLOCK)


def _block(seeds: Sequence[int]) -> list[Held]:
    return [recoveries_of(seed) for seed in seeds]


def _open(section: Section) -> Iterator[str]:
    if section.numbers["failures"] and section.good is None:
        yield f"of a whole recording it is said: {section.sentence}"


def _faults(recording: Recording, told: list[tuple[str, str]]) -> Iterator[str]:
    protocol = recording.manifest.protocol
    types = {name for _, name in told}
    if types & {"undecided"}:
        yield "a whole recording leaves a recovery undecided"
    if protocol.name != "none" and "gap" in types:
        yield "a gap, and every task is sent again what it has to take"
    if not is_shaped(recording) or not _one_way(recording):
        return
    truth = Truth.of(recording)
    seen = bool(truth.twice or truth.outside_twice)
    notable = [(task, name) for task, name in told if name not in (*_NOT_TOLD, "gap")]
    if seen and not notable and "gap" not in types:
        yield f"no recovery shows, and {truth.words()}"
    if not seen and any(name == "repeating" for _, name in notable):
        yield f"a recovery repeats, and nobody was given anything twice: {notable}"
    if protocol.name == "none" and recording.manifest.job.name == "pass-through":
        yield from _of_gaps(recording, told)
    if _exact(recording) and any(recording.graph.task(task).outputs for task, _ in notable) and not truth.sinks_failed:
        yield f"under full sharing a recovery is not precise, and no sink failed: {notable}"


def _one_way(recording: Recording) -> bool:
    """Whether there is never more than one way for a record, so that nothing comes twice unless it is repeated."""
    return all(ways <= 1 for one in recording.manifest.vertices for ways in recording.ways_to(one.id).values())


def _exact(recording: Recording) -> bool:
    protocol = recording.manifest.protocol
    return protocol.name == "clonos" and protocol.sharing_depth is None and not recording.rolled_back


def _of_gaps(recording: Recording, told: list[tuple[str, str]]) -> Iterator[str]:
    """Nothing is lost where no recovery has a gap; where one has, its vertex counted less than went in."""
    checkpoint = recording.completed[-1]
    expected = recording.expected_keys(checkpoint)
    short = {
        vertex.id
        for vertex in recording.manifest.vertices
        if sum(recording.state(task, checkpoint)["operator"]["records"] for task in recording.tasks_of(vertex.id))
        < sum(expected[vertex.id].values())
    }
    gaps = {recording.graph.task(task).vertex for task, name in told if name == "gap"}
    open_ = any(name in ("superseded", "undecided") for _, name in told)
    if short and not gaps and not open_:
        yield f"{sorted(short)} counted too few records, and no recovery has a gap"
    if gaps and not short:
        yield f"recoveries of {sorted(gaps)} have gaps, and every vertex counted all"


@dataclass(slots=True)
class Truth:
    """What somebody was given twice: by channel and attempt of the receiver, and by the outside."""

    twice: dict[str, int] = field(default_factory=dict)
    outside_twice: int = 0
    sinks_failed: bool = False

    @classmethod
    def of(cls, recording: Recording) -> Truth:
        """Counted out."""
        truth = cls(sinks_failed=recording.failed([*recording.tasks_of("sink")]))
        for channel in recording.graph.channels:
            for attempt in range(recording.attempts(channel.target)):
                again = sum(count - 1 for count in _taken(recording, channel, attempt).values())
                if again:
                    truth.twice[f"{channel.id} by attempt {attempt}"] = again
        truth.outside_twice = _outside_twice(recording)
        return truth

    def words(self) -> str:
        """For a fault."""
        return f"records were taken twice: {self.twice}; written twice: {self.outside_twice}"


def _taken(recording: Recording, channel: Channel, attempt: int) -> Counter[str]:
    found: Counter[str] = Counter()
    reader, sender = RecordReader(channel.id), -1
    for one in sorted(recording.receipts(channel.target, attempt, channel.i), key=lambda one: one.taken_us):
        if not one.taken:
            continue
        frame = recording.buffers(channel.source, one.sender_attempt, channel.k)[one.seq]
        if sender != one.sender_attempt and _begins_anew(recording, channel, one.sender_attempt):
            reader.reset()
        sender = one.sender_attempt
        if not frame.is_event:
            found.update(_name(record.key, record.value, record.lineage) for record in reader.feed(frame.payload))
    return found


def _name(key: str, value: object, lineage: object) -> str:
    """There is one record of each lineage; what a timer gave has that of a record, and says which timer it was."""
    return f"{lineage} {value}" if key == TIMER_KEY else str(lineage)


def _begins_anew(recording: Recording, channel: Channel, sender: int) -> bool:
    """Whether an attempt goes on in the middle of no record that the one before it began."""
    return not recording.manifest.protocol.logs or "diverged" in recording.starts[channel.source][sender]


def _outside_twice(recording: Recording) -> int:
    """What a sink gave again, whatever the world makes of it but for ids and transactions."""
    written: Counter[str] = Counter()
    if recording.manifest.protocol.sink in ("plain", "determinant"):
        lines = (
            line
            for task in recording.tasks_of("sink")
            for attempt in range(recording.attempts(task))
            for _, line in recording.sink_lines(task, attempt)
        )
    else:
        lines = (line for _, line in counted(recording))
    written.update(_name(line["record"][0], line["record"][2], line["source"]) for line in lines)
    return sum(count - 1 for count in written.values())
