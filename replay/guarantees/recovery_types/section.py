"""An audit's section on recovery types: of every failure, and of every vertex the strongest class not refuted."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.debugger.writing.words import counted
from replay.errors import printable
from replay.guarantees.claims import Section
from replay.guarantees.recovery_types.classes import CLASSES, OfVertex
from replay.guarantees.recovery_types.failures import TYPES, Judge, Judged
from replay.guarantees.recovery_types.operators import operator_classes
from replay.guarantees.recovery_types.reasons import reason
from replay.guarantees.recovery_types.streams import Streams

MOST_FAILURES = 200
"""More are counted, and not looked at."""
GOOD = ("precise", "superseded")
GIVEN_AGAIN = ("divergent", "rollback", "convergent", "repeating")
"""Somebody got something twice."""


def recovery_types(source: RecordingSource) -> Section:
    """§2.3.3.1 of the paper: gap, repeating, convergent, divergent, precise."""
    section = Section("recovery-types", "What kind of recovery each failure got")
    story = Story.read(source.events())
    judge = Judge(source, story, Streams(source, story.without_determinants))
    found = [judge.judge(number) for number in islice(sorted(story.failures), MOST_FAILURES)]
    for one in found:
        _say(section, source, story, one)
    left_out = len(story.failures) - len(found)
    if left_out:
        said = f"Of {len(story.failures):,} failures only the first {len(found):,} were looked at."
        section.lack("job", said, f"a recording with no more than {MOST_FAILURES} failures")
    operators = list(operator_classes(source, story, judge.streams))
    for of_vertex in operators:
        _say_class(section, of_vertex)
    section.numbers = {
        "failures": [one.to_json() for one in found],
        "failures_left_out": left_out,
        "operators": [one.to_json() for one in operators],
    }
    _sum_up(section, found, left_out)
    _untold(section, source, story)
    _unjudged(section, judge, left_out)
    return section


def _untold(section: Section, source: RecordingSource, story: Story) -> None:
    """Attempts of which no event tells how they came to be."""
    if story.unreadable is not None:
        section.lack("job", f"The events can't be read to their end: {story.unreadable}", "events.ndjson")
    untold = [
        (task.id, attempt)
        for task in source.manifest.tasks
        for attempt in source.attempts(task.id)
        if attempt and (task.id, attempt) not in story.starts
    ]
    if untold:
        task, attempt = untold[0]
        said = f"No event tells how {len(untold):,} attempts came to be, as attempt {attempt} of {printable(task)}."
        section.lack("job", said, "events.ndjson: attempt-started")
    if (untold or story.unreadable is not None) and section.good is not False:
        section.good, section.verdict = None, "undecided"
        section.sentence = "What kind of recovery failures got can't be said, as events are missing."


def _unjudged(section: Section, judge: Judge, left_out: int) -> None:
    """What was recovered, and no failure that was looked at tells how: nothing says that it was precise."""
    untold = [] if left_out else list(judge.untold())
    for task, attempt in untold[:1]:
        many = f", and of {counted(len(untold) - 1, 'other')}" if len(untold) > 1 else ""
        said = f"What became of what attempt {attempt} of {printable(task)} had to do again{many} can't be said."
        section.lack("job", said, "events.ndjson: task-failed, global-rollback and attempt-started")
    if untold and section.good:
        section.good, section.verdict = None, "undecided"
        section.sentence = f"{section.sentence} What came after some of them can't be said."


def _say(section: Section, source: RecordingSource, story: Story, one: Judged) -> None:
    about = f"failure:{one.failure}"
    event = story.failures[one.failure].get("n")
    evidence = (f"event:{event}", *one.evidence) if isinstance(event, int) else one.evidence
    named = f"{printable(one.task)}, attempt {one.attempt}" if one.task else "no attempt that is recorded"
    whole = ", as the whole job was rolled back" if one.rolled_back else ""
    if one.type == "undecided":
        said = f"What kind of recovery failure {one.failure} got ({named}) can't be said: {one.sentence}."
        section.lack(about, said, one.wants)
        return
    said = f"Failure {one.failure} ({named}{whole}) was recovered from {_SAID[one.type]}: {one.sentence}."
    if one.type in GIVEN_AGAIN and one.attempt is not None and not one.rolled_back:
        why, proof = reason(source, story, one.task, one.attempt)
        said, evidence = f"{said} {why}".rstrip(), tuple(dict.fromkeys((*evidence[:1], *proof, *evidence[1:])))
    section.claim(about, one.type, said, evidence)
    if one.type == "rollback":
        section.lack(about, f"Whether the recovery of failure {one.failure} converges can't be told.", one.wants)


def _say_class(section: Section, one: OfVertex) -> None:
    """The strongest class, and what is said against each that is stronger."""
    about, name = f"vertex:{one.vertex}", printable(one.vertex)
    refuted = [of for of in CLASSES if of in one.against]
    why = "; ".join(f"not {of}, as {one.against[of].sentence}" for of in refuted)
    said = f"Nothing refutes that {name} is {one.strongest}" + (f": {why}." if why else ".")
    section.claim(about, one.strongest, said, [name for of in refuted for name in one.against[of].evidence])
    for sentence, wants in one.open:
        section.lack(about, f"{sentence.rstrip('.')}.", wants)


_SAID = {
    "gap": "with a gap",
    "divergent": "by a divergent rollback",
    "convergent": "by a convergent rollback",
    "rollback": "by a rollback, convergent or divergent",
    "repeating": "by a repeating rollback",
    "precise": "precisely",
    "superseded": "by another recovery",
}


def _sum_up(section: Section, found: list[Judged], left_out: int) -> None:
    counts = Counter(one.type for one in found)
    section.numbers["counts"] = {name: counts[name] for name in TYPES}
    bad = [name for name in TYPES if counts[name] and name not in (*GOOD, "undecided")]
    open_ = counts["undecided"] + left_out
    if not found:
        section.verdict, section.sentence = "nothing failed", "Nothing failed, so nothing was recovered."
        return
    section.good = False if bad else None if open_ else True
    section.verdict = bad[0] if bad else "undecided" if open_ else "precise"
    told = ", ".join(f"{counts[name]:,} {name}" for name in TYPES if counts[name])
    section.sentence = f"Of {counted(len(found), 'failure')}: {told}."
