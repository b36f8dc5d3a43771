"""The verdict on delivery without trusting the job: every record of the sources held against the rows outside."""

from __future__ import annotations

from typing import Any

from replay.debugger.ports import RecordingSource
from replay.debugger.writing.words import counted
from replay.errors import WrongSetting, printable
from replay.guarantees.claims import Section
from replay.guarantees.outside.doubts import Doubts
from replay.guarantees.outside.found import Rows
from replay.guarantees.outside.judging import Open, judged
from replay.guarantees.outside.ledger import Ledger
from replay.guarantees.outside.mapping import How
from replay.guarantees.outside.rows import Outside
from replay.guarantees.outside.source_tasks import source_tasks
from replay.guarantees.outside.sources import Sources
from replay.guarantees.outside.spool import Spool
from replay.guarantees.outside.telling import tell

TITLE = "The outside, looked at from outside"
_OPEN: dict[Open, tuple[str, str]] = {
    "unfinished": (
        "{} of epochs that never came to their end: what they give may come yet, or once more.",
        "a recording in which the job has come to its end",
    ),
    "shared": (
        "{} with a key that is another record's too: whose a row is can't be told.",
        "a key that each record has alone (--key and --source-key)",
    ),
    "untold": (
        "{} may have several rows, and their number alone does not tell whether one is there twice or lost.",
        "what tells the rows of a record apart (--part), and how many there are (--per-record)",
    ),
    "left out": (
        "{} without a row, which may be meant.",
        "a fixed number of rows for each record (--per-record)",
    ),
}


def outside(source: RecordingSource, rows: Outside, how: How | None = None, topics: Outside | None = None) -> Section:
    """Which records of the sources have no row outside, which have more than they should, which rows are nobody's.

    `topics` holds what references of the recording stand for. Raises `WrongSetting` where `how` names what the
    recording has not.
    """
    how, section = how or How(), Section("outside", TITLE)
    doubts, ledger = Doubts(section), Ledger(printable(rows.name))
    sources = Sources(source, how, _tasks(source, how, doubts), doubts, topics)
    with Spool() as spool:
        sources.read(spool)
        found = Rows(rows, how, doubts)
        found.read(spool)
        for joined in spool.joined():
            parts = how.part is not None
            ledger.add(judged(joined, how.per_record, parts, sources.by_place, sources.by_offset))
    _check_joined(sources, found, ledger, doubts)
    _tell_open(ledger, doubts)
    section.numbers = _numbers(sources, found, ledger, doubts)
    _conclude(section, sources, ledger, doubts)
    tell(section, sources, ledger, doubts)
    return section


def _tasks(source: RecordingSource, how: How, doubts: Doubts) -> list[str]:
    try:
        return source_tasks(source, how)
    except WrongSetting as fault:
        if how.source:
            raise
        doubts.everything(f"{fault.why.capitalize()}.", fault.remedy or "--source")
        return []


def _check_joined(sources: Sources, found: Rows, ledger: Ledger, doubts: Doubts) -> None:
    if not sources.records:
        doubts.everything("The recording holds no record of a source.", "tasks/<task>/<attempt>/source/")
    elif not ledger.matched and found.rows:
        doubts.everything(
            f"No row of {ledger.name} has a key that a record of the sources has: they may not be of one kind.",
            "keys of one kind on both sides (--key and --source-key)",
        )


def _tell_open(ledger: Ledger, doubts: Doubts) -> None:
    doubts.lost_open |= ledger.lost_open
    doubts.more_open |= ledger.more_open
    for why, count in ledger.open_count.items():
        sentence, wants = _OPEN[why]
        examples = ", ".join(printable(one.joined.taken[0].said) for one in ledger.open[why])
        doubts.section.lack("job", sentence.format(f"{counted(count, 'record')}, as {examples},"), wants)


def _numbers(sources: Sources, found: Rows, ledger: Ledger, doubts: Doubts) -> dict[str, Any]:
    """What is proven, and of how many."""
    more, lost = not doubts.no_proof_of_more, not doubts.no_proof_of_lost
    return {
        "taken": sources.records,
        "records": ledger.records,
        "rows": found.rows,
        "twice": ledger.twice_count * more,
        "differing": ledger.differing * more,
        "lost": ledger.lost_count * lost,
        "made_up": ledger.made_up_count * more,
    }


# --- the verdict ---


def _conclude(section: Section, sources: Sources, ledger: Ledger, doubts: Doubts) -> None:
    twice, lost, made_up = (section.numbers[name] for name in ("twice", "lost", "made_up"))
    section.verdict, section.good = _verdict(bool(twice), bool(lost), bool(made_up), doubts)
    of = ", ".join(printable(one) for one in sources.tasks[:3]) + (", …" if len(sources.tasks) > 3 else "")
    parts = [
        f"{counted(twice, 'record')} of {of} more than once in {ledger.name}" if twice else "",
        f"{ledger.differing:,} of them not the same each time" if twice and ledger.differing else "",
        f"{counted(lost, 'record')} not there at all or in part" if lost else "",
        f"{counted(made_up, 'row')} that no record of the sources accounts for" if made_up else "",
    ]
    told = ", ".join(filter(None, parts))
    section.sentence = f"{section.verdict.capitalize()}: {told or _nothing_found(section.verdict, of, ledger)}."
    if told and section.verdict == "undecided":
        section.sentence = f"Not exactly once, and what else is undecided: {told}."


def _nothing_found(verdict: str, of: str, ledger: Ledger) -> str:
    if verdict == "exactly once":
        return f"each of {counted(ledger.records, 'record')} of {of} is in {ledger.name} as often as it should be"
    return f"what {ledger.name} holds does not tell whether each record is there as often as it should be"


def _verdict(twice: bool, lost: bool, made_up: bool, doubts: Doubts) -> tuple[str, bool | None]:
    if made_up or (twice and lost):
        return "neither", False
    if twice:
        return ("undecided" if doubts.lost_open else "at least once"), False
    if lost:
        return ("undecided" if doubts.more_open else "at most once"), False
    return ("undecided", None) if doubts.lost_open or doubts.more_open else ("exactly once", True)
