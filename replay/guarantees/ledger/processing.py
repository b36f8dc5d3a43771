"""The verdict on processing: has each record influenced the state that the job ended with exactly once?"""

from __future__ import annotations

from replay.debugger.ports import RecordingSource
from replay.errors import printable
from replay.guarantees.claims import Section
from replay.guarantees.expecting import PROCESSING
from replay.guarantees.ledger.account import Account
from replay.guarantees.ledger.verdicts import AT_LEAST_ONCE, AT_MOST_ONCE, EXACTLY_ONCE, UNDECIDED, Verdict
from replay.guarantees.ledger.wording import claim_each, good, records, tell_findings
from replay.guarantees.observed.processing import observed_processing


def processing(source: RecordingSource) -> Section:
    """Of every channel, task, and the job."""
    section = Section(PROCESSING, "Processing")
    if source.manifest.protocol.observed:
        return observed_processing(source, section)
    account = Account.of(source)
    section.verdict = verdict = account.of_processing()
    section.good = good(verdict)
    _tell_channels(section, account)
    _tell_sources(section, account)
    tell_findings(section, account.findings)
    _tell_numbers(section, account)
    section.sentence = _sentence(section, verdict)
    return section


def _tell_channels(section: Section, account: Account) -> None:
    for name, flow in account.flows.items():
        if account.doubted(flow.channel.source, flow.channel.target):
            continue
        about, shown = f"channel:{name}", printable(name)
        here = [one for one in flow.twice if not one.given_again]
        again = [one for one in flow.twice if one.given_again]
        vertex = printable(account.source.graph.task(flow.channel.target).vertex)
        claim_each(section, about, AT_LEAST_ONCE, here, f"was taken more than once from {shown}")
        undone = f"was taken from {shown} of an execution that was undone, and given to {vertex} again"
        claim_each(section, about, AT_LEAST_ONCE, again, f"{undone} by the one that counts")
        claim_each(section, about, AT_MOST_ONCE, flow.lost, f"was put on {shown}, and counts nowhere behind it")
        if flow.unseen:
            wants = f"tasks/{printable(flow.channel.target)}/…/received-{flow.channel.i}/"
            section.lack(f"channel:{flow.channel.id}", f"Of {shown} {flow.unseen}.", wants)
        if flow.unknown:
            why = f"Executions of {printable(flow.channel.source)} part on {shown}, and {flow.unknown}."
            section.lack(about, why, "the lineage of records")


def _tell_sources(section: Section, account: Account) -> None:
    for task, reads in account.reads.items():
        if account.doubted(task):
            continue
        about = f"task:{task}"
        claim_each(section, about, AT_LEAST_ONCE, reads.twice, "was read twice by executions that count")
        claim_each(section, about, AT_MOST_ONCE, reads.lost, "was read by an execution that was undone, and not again")
        if reads.unknown:
            section.lack(about, f"Of {printable(task)} {reads.unknown}.", f"tasks/{printable(task)}/…/source/")


def _tell_numbers(section: Section, account: Account) -> None:
    flows, reads, graph = account.flows.values(), account.reads.values(), account.source.graph
    twice = [*(one.twice for one in flows), *(one.twice for one in reads)]
    lost = [*(one.lost for one in flows), *(one.lost for one in reads)]
    section.numbers = {
        "job": section.verdict,
        "tasks": {task: account.of_task(task) for task in graph.order},
        "channels": {one.id: account.of_channel(one) for one in graph.channels},
        "twice": sum(map(len, twice)),
        "lost": sum(map(len, lost)),
        "of_undone": sum(len(one.extra) for one in flows),
        "under_way": sum(one.under_way for one in flows),
        "source_records": sum(len(one.ever) for one in reads),
    }


def _sentence(section: Section, verdict: Verdict) -> str:
    twice, lost = section.numbers["twice"], section.numbers["lost"]
    if verdict == EXACTLY_ONCE:
        of = f"{records(section.numbers['source_records'])} of its sources"
        return f"Exactly once: each of {of}, and each that came of them, influenced the state of the job once."
    if verdict == UNDECIDED:
        why = section.lacks[0].sentence if section.lacks else "nothing shows it."
        return f"Undecided whether each record influenced the state of the job once: {why}"
    said = [f"{records(twice)} counted more than once"] if twice else []
    said += [f"{records(lost)} counted nowhere"] if lost else []
    return f"{verdict.capitalize()}: {' and '.join(said)} in the state of the job."
