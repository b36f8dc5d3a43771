"""The verdict on delivery: has what came of each source record been given to the outside exactly once?"""

from __future__ import annotations

from replay.debugger.ports import RecordingSource
from replay.debugger.writing.words import counted
from replay.errors import printable
from replay.guarantees.claims import MOST_CLAIMS, Section
from replay.guarantees.expecting import DELIVERY
from replay.guarantees.ledger.account import Account
from replay.guarantees.ledger.ends import EndToEnd, end_to_end
from replay.guarantees.ledger.verdicts import AT_LEAST_ONCE, AT_MOST_ONCE, EXACTLY_ONCE, UNDECIDED, Verdict
from replay.guarantees.ledger.wording import claim_each, good, records, tell_findings
from replay.guarantees.observed.section import delivery_section


def delivery(source: RecordingSource) -> Section:
    """Of every sink, and the job; and the external calls with an effect that were made more than once."""
    section = Section(DELIVERY, "Delivery")
    if source.manifest.protocol.observed:
        return delivery_section(source)
    account = Account.of(source)
    found = end_to_end(account)
    section.verdict, section.good = found.verdict, good(found.verdict)
    _tell_sinks(section, account)
    claim_each(section, "job", AT_LEAST_ONCE, found.twice, "reached the outside more than once")
    claim_each(section, "job", AT_MOST_ONCE, found.lost, "never reached the outside")
    tell_findings(section, account.findings)
    if found.unknown:
        why = f"Records counted otherwise than once before they came to a sink, and {found.unknown}."
        section.lack("job", why, "which outputs followed from which of the times")
    _tell_calls(section, account)
    _tell_numbers(section, account, found)
    section.sentence = _sentence(section, account, found)
    return section


def _tell_sinks(section: Section, account: Account) -> None:
    if not account.writes:
        section.lack("job", "No output is recorded.", "tasks/…/sink/")
    for task, writes in account.writes.items():
        if account.doubted(task, *account.source.graph.upstream(task)):
            continue
        about, name = f"sink:{task}", printable(task)
        claim_each(section, about, AT_LEAST_ONCE, writes.twice, f"was given to the outside by {name} more than once")
        claim_each(
            section, about, AT_MOST_ONCE, writes.lost, f"was taken by {name}, and the outside has no output of it"
        )
        for why, wants in writes.unwritten:
            section.lack(about, f"Of {name} {why}.", printable(wants))
        for why, wants in writes.unknown:
            section.lack(about, f"Of {name} {why}.", wants)


def _tell_calls(section: Section, account: Account) -> None:
    again = any(attempt for task in account.source.graph.order for attempt in account.executions.attempts(task))
    if again and not any(name.endswith(".det") for name in account.source.members.names("tasks/")):
        why = "No choices are logged, so external calls with an effect that were made more than once can't be listed."
        section.lack("job", why, "tasks/…/main/")
    told = 0
    for task, calls in account.calls.items():
        for (name, number), those in calls.again.items():
            told += 1
            if told > MOST_CLAIMS:
                section.claims_left_out += 1
                continue
            attempts = ", ".join(str(one.attempt) for one in those)
            sentence = (
                f"The external call {printable(name)} with an effect, number {number} of {printable(task)}, was made "
                f"{counted(len(those), 'time')}: by its attempts {attempts}."
            )
            section.claim(f"task:{task}", AT_LEAST_ONCE, sentence, calls.evidence(those))


def _tell_numbers(section: Section, account: Account, found: EndToEnd) -> None:
    writes, calls = account.writes.values(), account.calls.values()
    section.numbers = {
        "job": section.verdict,
        "sinks": {task: account.of_sink(task) for task in account.writes},
        "kind": account.source.manifest.protocol.sink,
        "outputs": sum(one.outputs for one in writes),
        "counted": sum(one.counted for one in writes),
        "twice": len(found.twice) or sum(len(one.twice) for one in writes),
        "lost": len(found.lost) or sum(len(one.lost) for one in writes),
        "calls": sum(one.made for one in calls),
        "calls_again": sum(len(those) - 1 for one in calls for those in one.again.values()),
    }


def _sentence(section: Section, account: Account, found: EndToEnd) -> str:
    verdict: Verdict = found.verdict
    numbers = section.numbers
    calls = ""
    if numbers["calls_again"]:
        calls = f" External calls with an effect were made {counted(numbers['calls_again'], 'time')} more than once."
    if verdict == EXACTLY_ONCE:
        what = counted(numbers["counted"], "output")
        return f"Exactly once: the outside has {what}, and each follows from records that counted once.{calls}"
    if verdict == UNDECIDED:
        why = section.lacks[0].sentence if section.lacks else "nothing shows it."
        return f"Undecided whether everything was given to the outside once: {why}{calls}"
    said = (
        [f"what came of {records(numbers['twice'])} was given to the outside more than once"]
        if numbers["twice"]
        else []
    )
    said += [f"of {records(numbers['lost'])} nothing reached the outside"] if numbers["lost"] else []
    return f"{verdict.capitalize()}: {' and '.join(said)}.{calls}"
