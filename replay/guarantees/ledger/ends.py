"""From the sources to the outside: has what came of each source record been delivered once, whatever came between?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from replay.guarantees.ledger.account import Account
from replay.guarantees.ledger.flows import Counted, Origin
from replay.guarantees.ledger.shapes import repeats, ways_to
from replay.guarantees.ledger.verdicts import AT_LEAST_ONCE, EXACTLY_ONCE, UNDECIDED, Verdict, together, verdict_of


@dataclass(slots=True)
class EndToEnd:
    """The verdict on delivery of the whole job. `twice` and `lost`: source records, where they could be counted."""

    verdict: Verdict
    twice: list[Counted] = field(default_factory=list)
    lost: list[Counted] = field(default_factory=list)
    unknown: str = ""


def end_to_end(account: Account) -> EndToEnd:
    """Where all above a sink is exact, what the sinks gave is all; else source records are counted outside."""
    sinks = together(account.of_sink(one) for one in account.writes)
    if account.findings or not account.writes:
        return EndToEnd(_at_most_undecided(sinks))
    if account.of_processing() == EXACTLY_ONCE:
        return EndToEnd(sinks)
    counted = _counted(account)
    if counted is not None:
        return counted
    return _repeated(account, sinks)


def _repeated(account: Account, sinks: Verdict) -> EndToEnd:
    """Where nothing is lost, what counted twice comes out twice, as far as operators below are known to repeat it."""
    flows = [flow for flow in account.flows.values() if flow.twice]
    known = [flow for flow in flows if repeats(account.source, flow.channel.target)]
    lost = any(flow.lost for flow in account.flows.values()) or any(one.lost for one in account.reads.values())
    given: Counter[Origin] = Counter()
    for one in account.writes.values():
        given += one.given
    twice = [] if lost else [one for flow in known for one in flow.twice if any(given[name] for name in one.origins)]
    if twice:
        return EndToEnd(together([sinks, AT_LEAST_ONCE]), twice)
    if known == flows and not lost:
        return EndToEnd(sinks)
    why = "how many outputs come of a record is not known of its operators"
    return EndToEnd(_at_most_undecided(sinks), unknown=why)


def _at_most_undecided(sinks: Verdict) -> Verdict:
    return UNDECIDED if sinks == EXACTLY_ONCE else sinks


def _counted(account: Account) -> EndToEnd | None:
    """By the names that outputs bear, where one comes of each record on every way; None where that isn't known."""
    found = EndToEnd(EXACTLY_ONCE)
    vertices: dict[str, list[str]] = {}
    for task in account.writes:
        vertices.setdefault(account.source.graph.task(task).vertex, []).append(task)
    for tasks in vertices.values():
        ways = ways_to(account.source, tasks[0])
        if ways is None or any(account.writes[one].unknown for one in tasks):
            return None
        given: Counter[Origin] = Counter()
        for one in tasks:
            given += account.writes[one].given
        _count(account, found, ways, given)
    found.verdict = verdict_of(twice=bool(found.twice), lost=bool(found.lost))
    return found


def _count(account: Account, found: EndToEnd, ways: dict[str, int], given: Counter[Origin]) -> None:
    for task, reads in account.reads.items():
        due = ways.get(account.source.graph.task(task).vertex, 0)
        for offset, (attempt, epoch) in reads.ever.items():
            kept = found.twice if given[task, offset] > due else found.lost
            is_due = epoch < account.executions.last_completed
            if given[task, offset] > due or (given[task, offset] < due and is_due):
                kept.append(Counted(((task, offset),), (f"source:{task}/{attempt}#{offset}",)))
