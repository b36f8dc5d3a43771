"""What an audit says about cuts: every completed checkpoint, every recovery, and the job's state at the end."""

from __future__ import annotations

from replay.debugger.ports import RecordingSource
from replay.errors import printable
from replay.guarantees.claims import Section
from replay.guarantees.cuts.checkpoints import OfCheckpoint, completed_checkpoints
from replay.guarantees.cuts.cut import Orphan
from replay.guarantees.cuts.cuts import Cuts
from replay.guarantees.cuts.recoveries import Recovery, recoveries

MOST_ROWS = 1_000
MOST_UNKNOWN = 20
_TITLE = "Is every checkpoint, and what every recovery went back to, a state that the job could have been in?"


def consistent_cuts(source: RecordingSource) -> Section:
    """The section `cuts`."""
    section = Section("cuts", _TITLE)
    if not source.graph.channels:
        section.verdict, section.sentence = "undecided", "The recording names no channel, so no cut can be looked at."
        section.lack("job", section.sentence, "tasks[].inputs and tasks[].outputs in job.json")
        return section
    cuts = Cuts.of(source)
    checkpoints, failures = completed_checkpoints(cuts), recoveries(cuts)
    for checkpoint in checkpoints:
        _of_checkpoint(section, checkpoint)
    for failure in failures:
        _of_recovery(section, cuts, failure)
    at_the_end, open_at_the_end = _of_the_end(section, cuts)
    _what_is_missing(section, cuts)
    section.numbers = {
        "checkpoints": [one.to_json() for one in checkpoints[:MOST_ROWS]],
        "checkpoints_total": len(checkpoints),
        "inconsistent": sum(one.verdict == "inconsistent" for one in checkpoints),
        "failures": [one.to_json() for one in failures[:MOST_ROWS]],
        "failures_total": len(failures),
        "orphans_left": sum(one.left for one in failures),
        "orphans_at_the_end": at_the_end,
        "open_at_the_end": open_at_the_end,
    }
    _conclude(section, checkpoints, failures)
    return section


def _of_checkpoint(section: Section, one: OfCheckpoint) -> None:
    about, event = f"checkpoint:{one.checkpoint}", f"event:{one.event}"
    for member in one.lacking:
        section.lack(about, f"Checkpoint {one.checkpoint} was completed, and a snapshot of it is not recorded.", member)
    for gap in (*one.ahead, *one.behind):
        verdict = "inconsistent" if gap.taken > gap.sent else "in flight"
        numbers = f"{gap.sent} to {gap.taken - 1}" if gap.taken > gap.sent else f"{gap.taken} to {gap.sent - 1}"
        tells = "taken by its receiver and not sent by its sender" if gap.taken > gap.sent else "sent and not taken"
        section.claim(
            about,
            verdict,
            f"In checkpoint {one.checkpoint} buffers {numbers} of {gap.channel} are {tells}.",
            (
                *gap.evidence,
                event,
                *(f"buffer:{gap.channel}/{gap.sender.attempt}#{n}" for n in _some(gap.sent, gap.taken)),
            ),
        )
    if one.orphans:
        first = one.orphans[0]
        section.claim(
            about,
            "inconsistent",
            f"In checkpoint {one.checkpoint} {_orphan_in_words(first)}{_and_more(one.orphan_count)}.",
            (first.receipt, first.buffer, event, *(orphan.receipt for orphan in one.orphans[1:])),
        )
    if one.verdict == "consistent":
        section.claim(
            about, "consistent", f"Checkpoint {one.checkpoint} is a consistent cut with nothing in flight.", (event,)
        )


def _some(one: int, other: int) -> range:
    first, end = min(one, other), max(one, other)
    return range(first, min(end, first + 10))


def _orphan_in_words(one: Orphan) -> str:
    whose = f"buffer {one.seq} of {one.channel} by attempt {one.attempt} has been taken"
    if one.instead is None:
        return f"{whose}, and its sender has not sent it"
    return (
        f"{whose}, and its sender, in what attempt {one.instead} is made of, has sent something else under that number"
    )


def _and_more(count: int) -> str:
    return f", and so are {count - 1} more" if count > 1 else ""


def _of_recovery(section: Section, cuts: Cuts, one: Recovery) -> None:
    about, evidence = f"failure:{one.failure}", [f"event:{one.event}"]
    sentence = _recovery_in_words(one)
    for orphan in one.left_shown:
        evidence += [orphan.receipt, orphan.buffer]
    section.claim(about, one.verdict, sentence, evidence)
    if one.line is not None and one.attempt is not None:
        section.claim(about, "recovery line", _line_in_words(one), evidence[:1])
    if one.line is None:
        section.lack(
            about,
            "Buffers are taken again under numbers that others had, so snapshots alone give no recovery line.",
            "a protocol under which every buffer is taken once",
        )


def _recovery_in_words(one: Recovery) -> str:
    who = f"{printable(one.task)} failed"
    if one.attempt is None:
        return f"{who} and did not begin again before the recording ends."
    checkpoint = one.restored.get(one.task, 0)
    if one.rolled_back:
        return f"{who}, and {len(one.restored)} tasks went back to checkpoint {checkpoint}."
    alone = (
        f"{who} and went back alone to checkpoint {checkpoint}; {one.sent_again} buffers were to be sent to it again"
    )
    if not one.orphans:
        return f"{alone}, and nobody else had taken anything that it had not sent there."
    parts = [f"{one.rebuilt} were sent again as they had been"] if one.rebuilt else []
    parts += [f"{one.given_up} were given up by whoever had taken them"] if one.given_up else []
    parts += (
        [f"{one.left} came out otherwise, and those who took them still stand on what was before"] if one.left else []
    )
    parts += [f"of {one.open} the recording does not show it"] if one.open else []
    return f"{alone}. Others had taken {one.orphans} buffers that it had not sent there: {', '.join(parts)}."


def _line_in_words(one: Recovery) -> str:
    line = one.line or {}
    back = {task: at for task, at in line.items() if at is not None}
    if not back:
        return "By checkpoints alone nobody would have had to go back."
    shown = ", ".join(f"{printable(task)} to {at}" for task, at in list(back.items())[:8])
    more = f" and {len(back) - 8} more" if len(back) > 8 else ""
    spared = sum(task not in one.restored for task in back)
    saved = f"; {spared} of them did not go back" if spared else ""
    return f"By checkpoints alone {len(back)} of {len(line)} tasks would have gone back: {shown}{more}{saved}."


def _of_the_end(section: Section, cuts: Cuts) -> tuple[int, int]:
    """What the last state of all tasks has taken and not sent: (for good, as far as it is not rebuilt yet)."""
    left, still_open, first = 0, 0, None
    for orphan in cuts.orphans(cuts.at(cuts.end_us)):
        if orphan.instead is None:
            still_open += 1
        else:
            left, first = left + 1, first or orphan
    if first is not None:
        sentence = f"At the end of the recording {_orphan_in_words(first)}{_and_more(left)}."
        section.claim("job", "inconsistent", sentence, (first.receipt, first.buffer))
    if still_open:
        section.lack(
            "job",
            f"At the end of the recording {still_open} buffers had been taken that their sender was yet to send again.",
            "events.ndjson, to the end of the recovery",
        )
    return left, still_open


def _what_is_missing(section: Section, cuts: Cuts) -> None:
    for fault in cuts.traffic.faults:
        section.lack("job", f"{fault}", printable(fault.path or "a member"))
    for told in dict.fromkeys(cuts.histories.faults):
        section.lack("job", told, "events.ndjson or the snapshot that is named")
    for name in cuts.unknown[:MOST_UNKNOWN]:
        section.lack("job", "A buffer was taken, and no member of its sender has it.", name)
    for task in cuts.source.graph.order:
        for attempt in cuts.histories.attempts(task):
            begin = cuts.histories.begin(task, attempt)
            if begin.checkpoint and not begin.known:
                section.lack(
                    f"task:{task}",
                    f"Attempt {attempt} of {printable(task)} began from checkpoint {begin.checkpoint}, whose snapshot "
                    "is not recorded.",
                    f"tasks/{task}/*/state/{begin.checkpoint}.json",
                )


def _conclude(section: Section, checkpoints: list[OfCheckpoint], failures: list[Recovery]) -> None:
    bad = [one for one in checkpoints if one.verdict == "inconsistent"]
    left = [one for one in failures if one.left]
    uneven = [one for one in checkpoints if one.verdict == "in flight"]
    if bad or left or section.numbers["orphans_at_the_end"]:
        section.verdict, section.good = "inconsistent", False
        parts = [f"{len(bad)} of {len(checkpoints)} completed checkpoints are no consistent cut"] if bad else []
        parts += [f"{len(left)} of {len(failures)} recoveries left others on what was never sent"] if left else []
        at_the_end = section.numbers["orphans_at_the_end"]
        parts += [f"the last state has taken {at_the_end} buffers that were never sent in it"] if at_the_end else []
        section.sentence = f"{'; '.join(parts)}."
    elif uneven:
        section.verdict, section.good = "in flight", False
        section.sentence = (
            f"In {len(uneven)} of {len(checkpoints)} completed checkpoints buffers were sent before it and taken after "
            "it, which no snapshot holds."
        )
    elif any(not one.about.startswith("failure:") for one in section.lacks) or any(one.open for one in failures):
        section.verdict = "undecided"
        section.sentence = "Nothing speaks against it, but not all that would is recorded."
    else:
        section.verdict, section.good = "consistent", True
        section.sentence = _good(checkpoints, failures)


def _good(checkpoints: list[OfCheckpoint], failures: list[Recovery]) -> str:
    what = {
        0: "No checkpoint was completed",
        1: "The one completed checkpoint is a consistent cut",
    }.get(len(checkpoints), f"All {len(checkpoints)} completed checkpoints are consistent cuts")
    if not failures:
        return f"{what}."
    after = "the failure" if len(failures) == 1 else f"{len(failures)} failures"
    return f"{what}, and after {after} nobody stands on what was never sent."
