"""What an audit says by the formal model: definitions 5 to 9 on what was observed, and theorem 1's condition."""

from __future__ import annotations

from typing import Any

from replay.debugger.ports import RecordingSource
from replay.errors import ReplayError, printable
from replay.guarantees.claims import Section
from replay.guarantees.formal.commuting import Commuting, Pair, commutativity
from replay.guarantees.formal.leaving import Early, Leaving, leaving
from replay.guarantees.formal.on_recording import Definitions, definitions

NAME, TITLE = "formal", "By the formal model: may anything that left be contradicted by what a recovery makes?"
MOST_SHOWN = 100


def formal(source: RecordingSource) -> Section:
    """The section `formal`."""
    section = Section(NAME, TITLE)
    operators = _operators(section, source)
    left = _left(section, source)
    found = definitions(source)
    _definitions(section, found)
    section.numbers = {
        "definitions": found.to_json(),
        "operators": [one.to_json() for one in operators],
        "outputs": None if left is None else left.total,
        "early": None if left is None else left.by_others,
        "early_by_own_order": None if left is None else left.by_own,
        "first_early": None if left is None or not left.early else _early_json(left.early[0]),
    }
    _conclude(section, left, operators, found)
    return section


# --- definition 9 ---


def _operators(section: Section, source: RecordingSource) -> list[Commuting]:
    try:
        found = commutativity(source)
    except ReplayError as fault:
        section.lack("job", f"The events can't be read: {fault}", printable(fault.path or "events.ndjson"))
        return []
    for one in found:
        about = f"vertex:{printable(one.vertex)}"
        if one.pair is not None:
            section.claim(about, one.verdict, _pair_in_words(one, one.pair), _pair_evidence(one.pair))
        elif one.unknown:
            section.lack(
                about, f"Whether {printable(one.vertex)}'s records commute is not known: {one.unknown}.", one.wants
            )
        elif one.tried_across:
            section.claim(
                about,
                one.verdict,
                f"{one.tried_across} pairs of records that {printable(one.vertex)} took from two channels came to the "
                "same in either order; that is no proof that all do.",
            )
    return found


def _pair_in_words(one: Commuting, pair: Pair) -> str:
    x = f"the record of key {_key(pair.x.record.key)} ({_where(pair, 0)})"
    y = f"the one of key {_key(pair.y.record.key)} ({_where(pair, 1)})"
    after = f"after {pair.after} records of {printable(pair.task)}"
    way = f"come to another result the other way round, in {pair.differs}"
    return f"{printable(one.vertex)} does not commute: {after} {x} and {y} {way}."


def _key(key: Any) -> str:
    return printable(repr(key), 40)


def _where(pair: Pair, which: int) -> str:
    came = (pair.x, pair.y)[which]
    lineage = came.record.lineage
    if lineage:
        return "record " + ", ".join(f"{offset} of {printable(task, 60)}" for task, offset in lineage[:3])
    return came.evidence.partition(":")[2]


def _pair_evidence(pair: Pair) -> list[str]:
    found = []
    for came in (pair.x, pair.y):
        found.append(came.evidence)
        found += [f"source:{task}/0#{offset}" for task, offset in came.record.lineage or ()]
    return found


# --- theorem 1 ---


def _left(section: Section, source: RecordingSource) -> Leaving | None:
    try:
        found = leaving(source)
    except ReplayError as fault:
        section.lack("job", f"What left can't be followed: {fault}", printable(fault.path or "a member"))
        return None
    for sentence, wants in found.lacks:
        section.lack("job", sentence, wants)
    for one in found.early[:MOST_SHOWN]:
        section.claim(f"task:{one.task}", "left early", _early_in_words(one), (one.output, one.choice))
    section.claims_left_out += max(0, len(found.early) - MOST_SHOWN)
    return found


def _early_in_words(one: Early) -> str:
    whose = "its own sink" if one.own else one.task
    return (
        f"At {one.t_us:,} µs {one.output.partition(':')[2]} left, and {one.kind} in epoch {one.epoch} of {whose}, "
        f"which it may depend on, was held by no survivor of {one.task}, not outside, and in no completed checkpoint."
    )


def _early_json(one: Early) -> dict[str, Any]:
    return {
        "t_us": one.t_us,
        "output": one.output,
        "task": one.task,
        "epoch": one.epoch,
        "choice": one.choice,
        "kind": one.kind,
        "own": one.own,
    }


# --- definitions 5 to 8 ---


def _definitions(section: Section, found: Definitions) -> None:
    if found.wants:
        why = f"What was given can't be held against runs without failures: {printable(found.why, 400)}."
        section.lack("job", why, printable(found.wants))
    for name, one in found.decided.items():
        verdict = "holds" if one.holds else "refuted" if one.holds is False else "not decided"
        against = () if one.against is None else (one.against.evidence,)
        section.claim("job", verdict, f"{_DEFINITIONS[name]}: {one.how}.", against)


_DEFINITIONS = {
    "6": "What consumers were given can be had without failures (definitions 5 and 6)",
    "7": "It can be had without failures by some of the inputs (definition 7)",
    "8": "It can be had without failures by inputs of which some come again (definition 8)",
}


def _conclude(section: Section, left: Leaving | None, operators: list[Commuting], found: Definitions) -> None:
    if found.holds is False and found.against is not None:
        section.verdict, section.good = "contradicted", False
        section.sentence = (
            f"No run without failures gives what consumers were given: {found.against.evidence.partition(':')[2]} is "
            f"the first that none of them gives there ({found.how})."
        )
    elif left is None:
        section.verdict, section.sentence = "undecided", "What left can't be followed."
    elif left.by_others:
        section.verdict, section.good = "left early", False
        section.sentence = (
            f"{left.by_others:,} of {left.total:,} outputs left before all that they depend on was recoverable, so a "
            "failure right then could have contradicted them."
        )
    elif not left.total:
        section.verdict, section.sentence = "nothing left", "No output is recorded, so nothing can be contradicted."
    elif left.lacks:
        section.verdict, section.sentence = "undecided", left.lacks[0][0]
    elif left.by_own:
        section.verdict = "own order only"
        section.sentence = (
            f"Everything above its sink that an output depends on was recoverable when it left; {left.by_own:,} of "
            f"{left.total:,} left before the order in which their sink itself took its inputs was."
        )
    else:
        section.verdict, section.good = "recoverable first", True
        section.sentence = f"Whatever {left.total} outputs depend on was recoverable before they left."
    free = [one.vertex for one in operators if one.pair is not None]
    if free:
        section.sentence += f" The order of records tells in {', '.join(printable(one, 60) for one in free[:5])}."
