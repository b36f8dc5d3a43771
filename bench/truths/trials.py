"""What an audit says of a world's recording, as it is and with faults in it, held against what is so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.truths.ends import AT_ENDS, planted_at_an_end
from bench.truths.plants import KINDS, Plant, planted
from bench.truths.traceless import why_no_trace
from bench.truths.wider_plants import WIDER, planted_widely
from bench.truths.worlds import Known, known_world
from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.reader import Bundle
from replay.guarantees.claims import Section
from replay.guarantees.ledger import delivery, processing
from replay.guarantees.ledger.verdicts import EXACTLY_ONCE, UNDECIDED, together


@dataclass(frozen=True)
class Said:
    """Of one question: the verdict, what is so (None: nobody knows), and the first reason where it is undecided."""

    question: str
    verdict: str
    truth: str | None
    why: str = ""


@dataclass(frozen=True)
class Named:
    """A planted fault: `precisely` by its member, `roughly` by its task or channel, `elsewhere`, or `not noticed`; or
    `no trace`, where an undamaged job could have left the same. `why`: that argument, or what was said first."""

    kind: str
    seed: int
    member: str
    how: str
    said: tuple[Said, ...]
    why: str = ""

    @property
    def wrong(self) -> bool:
        """Whether exactly once was said, and is not so."""
        return any(one.verdict == EXACTLY_ONCE and one.truth not in (EXACTLY_ONCE, None) for one in self.said)


@dataclass
class Trial:
    """Of one world. `faults`: sentences of what was said wrongly of the recording as it is."""

    seed: int
    setting: str
    said: tuple[Said, ...]
    faults: list[str] = field(default_factory=list)
    plants: list[Named] = field(default_factory=list)


def trial(seed: int, plants: int = 0, *, wider: bool = False, ends: bool = False) -> Trial:
    """Of the world of that seed; `plants`: how many faults, of one kind after the other; `wider`: of those kinds;
    `ends`: at the ends of attempts that others followed."""
    known = known_world(seed)
    bundle = known.bundle
    sections = processing(bundle), delivery(bundle)
    protocol = known.recording.manifest.protocol
    past = f", {protocol.on_lost} past the depth" if known.recording.escalated else ""
    depth = ", depth 0" if protocol.name == "clonos" and protocol.sharing_depth == 0 else ""
    found = Trial(
        seed,
        f"{known.recording.manifest.job.name}, {protocol.name}{depth}{past}, {protocol.sink}",
        _said(known, sections),
    )
    if known.truth.refuted and sections[1].verdict == EXACTLY_ONCE:
        found.faults.append("delivery is called exactly once, and the results refute it")
    found.faults += [*_wrong(found.said), *_wrong_of_vertices(known, sections[0]), *_alarms(sections)]
    kinds, plant_one = (WIDER, planted_widely) if wider else (AT_ENDS, planted_at_an_end) if ends else (KINDS, planted)
    before = {text for section in sections for text in _texts(section)}
    for number in range(plants):
        plant = plant_one(list(kinds)[(seed * plants + number) % len(kinds)], known.members, seed)
        if plant is not None:
            found.plants.append(_named(known, plant, before))
    return found


def _said(known: Known, sections: tuple[Section, ...]) -> tuple[Said, ...]:
    truths = known.truth.processing, known.truth.delivery
    return tuple(
        Said(one.name, one.verdict, truth, one.lacks[0].sentence if one.verdict == UNDECIDED and one.lacks else "")
        for one, truth in zip(sections, truths, strict=True)
    )


def _wrong(said: tuple[Said, ...]) -> Iterator[str]:
    for one in said:
        if one.truth is not None and one.verdict not in (one.truth, UNDECIDED):
            yield f"{one.question} is {one.truth}, and {one.verdict} was said"


def _wrong_of_vertices(known: Known, section: Section) -> Iterator[str]:
    """Of a vertex above which all is exact the tasks' verdicts are its own."""
    graph = known.bundle.graph
    for vertex, truth in known.truth.vertices.items():
        tasks = [one.id for one in graph.tasks if one.vertex == vertex]
        above = {graph.task(one).vertex for task in tasks for one in graph.all_upstream(task)}
        if all(known.truth.vertices[one] == EXACTLY_ONCE for one in above):
            said = together(section.numbers["tasks"][task] for task in tasks)
            if said not in (truth, UNDECIDED):
                yield f"{vertex} is {truth}, and {said} was said"


def _alarms(sections: tuple[Section, ...]) -> Iterator[str]:
    for section in sections:
        yield from (f"a false alarm: {one.sentence}" for one in section.claims if one.verdict == "contradiction")


def _named(known: Known, plant: Plant, before: set[str]) -> Named:
    bundle = Bundle(MembersInMemory(plant.members))
    sections = processing(bundle), delivery(bundle)
    new = [text for section in sections for text in _texts(section) if text not in before]
    how, why = _how(plant, new, known), new[0] if new else ""
    if how == "not noticed" and (argument := why_no_trace(known.members, plant)) is not None:
        how, why = "no trace", argument
    return Named(plant.kind, known.seed, plant.member, how, _said(known, sections), why)


def _texts(section: Section) -> Iterator[str]:
    for claim in section.claims:
        yield " ".join((claim.about, claim.sentence, *claim.evidence))
    for lack in section.lacks:
        yield " ".join((lack.about, lack.sentence, lack.wants))


def _how(plant: Plant, texts: list[str], known: Known) -> str:
    if not texts:
        return "not noticed"
    if any(plant.member in text for text in texts):
        return "precisely"
    if "/" not in plant.member:
        return "roughly"  # it is of the whole job, and something was noticed
    _, task, _, folder, _ = plant.member.split("/")
    shape = known.bundle.graph.task(task)
    side, _, number = folder.partition("-")
    names = [task]
    if number:
        names.append(shape.inputs[int(number)] if side == "received" else shape.outputs[int(number)].channel)
    return "roughly" if any(name in text for text in texts for name in names) else "elsewhere"
