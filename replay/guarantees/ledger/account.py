"""All that is counted of a recording, once for all sections: channels, sources, sinks, calls, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from weakref import WeakKeyDictionary

from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.errors import ReplayError
from replay.guarantees.ledger.agreement import Finding, finding_of, findings_of
from replay.guarantees.ledger.calls import Calls, calls_of
from replay.guarantees.ledger.channels import flow_of
from replay.guarantees.ledger.executions import Executions
from replay.guarantees.ledger.flows import Flow
from replay.guarantees.ledger.reads import Reads, reads_of
from replay.guarantees.ledger.siblings import count_undone, with_extras
from replay.guarantees.ledger.verdicts import UNDECIDED, Verdict, together, verdict_of
from replay.guarantees.ledger.writes import Writes, writes_of
from replay.model import Channel

_Found = TypeVar("_Found")


@dataclass(slots=True)
class Account:
    """Of one recording. What can't be read is a finding, and is not among the rest."""

    source: RecordingSource
    executions: Executions
    findings: list[Finding] = field(default_factory=list)
    flows: dict[str, Flow] = field(default_factory=dict)
    reads: dict[str, Reads] = field(default_factory=dict)
    writes: dict[str, Writes] = field(default_factory=dict)
    calls: dict[str, Calls] = field(default_factory=dict)
    _all_doubted: bool = False
    _doubted: frozenset[str] = frozenset()

    @classmethod
    def of(cls, source: RecordingSource) -> Account:
        """Counted once, and kept for as long as the recording is."""
        known = _KNOWN.get(source)
        if known is None:
            known = cls(source, Executions.read(source))
            known._count()
            _KNOWN[source] = known
        return known

    def _count(self) -> None:
        source, executions, graph = self.source, self.executions, self.source.graph
        for channel in graph.channels:
            self._keep(self.flows, channel.id, partial(_flow, source, executions, channel))
        for task in graph.order:
            if not graph.task(task).inputs:
                self._keep(self.reads, task, partial(reads_of, source, executions, task))
            if self._gives(task):
                self._keep(self.writes, task, partial(writes_of, source, executions, task))
            self._keep(self.calls, task, partial(calls_of, source, executions, task))
        count_undone(source, self.writes.values())
        self.findings = list(dict.fromkeys([*findings_of(source, executions), *self.findings]))
        self._all_doubted = any(one.tasks is None for one in self.findings)
        self._doubted = frozenset(task for one in self.findings for task in one.tasks or ())

    def _gives(self, task: str) -> bool:
        """Whether it is a sink, or gave anything to the outside."""
        if not self.source.graph.task(task).outputs:
            return True
        return any(True for one in self.source.attempts(task) for _ in self.source.epochs(task, one, "sink"))

    def _keep(self, kept: dict[str, _Found], name: str, count: Callable[[], _Found]) -> None:
        try:
            kept[name] = count()
        except (DivergenceFound, Missing, ReplayError) as fault:
            self.findings.append(finding_of(self.source, fault))

    # --- verdicts ---

    def doubted(self, *tasks: str) -> bool:
        """Whether something is wrong with the recording of one of these."""
        return self._all_doubted or not self._doubted.isdisjoint(tasks)

    def of_channel(self, channel: Channel) -> Verdict:
        """Whether each of its records influenced its receiver's state once."""
        flow = self.flows.get(channel.id)
        if flow is None or self.doubted(channel.source, channel.target):
            return UNDECIDED
        return verdict_of(twice=bool(flow.twice), lost=bool(flow.lost), undecided=bool(flow.unknown or flow.unseen))

    def of_task(self, task: str) -> Verdict:
        """Whether each record of its inputs, or of its source, influenced its state once."""
        if inputs := self.source.graph.task(task).inputs:
            return together(self.of_channel(self.source.graph.channel(one)) for one in inputs)
        reads = self.reads.get(task)
        if reads is None or self.doubted(task):
            return UNDECIDED
        return verdict_of(twice=bool(reads.twice), lost=bool(reads.lost), undecided=bool(reads.unknown))

    def of_sink(self, task: str) -> Verdict:
        """Whether each record that it took was given to the outside once."""
        writes = self.writes.get(task)
        if writes is None or self.doubted(task, *self.source.graph.upstream(task)):
            return UNDECIDED
        unknown = bool(writes.unknown or writes.unwritten)
        return verdict_of(twice=bool(writes.twice), lost=bool(writes.lost), undecided=unknown)

    def of_processing(self) -> Verdict:
        """Of the whole job."""
        found = together(self.of_task(one) for one in self.source.graph.order)
        return verdict_of(
            twice=found in ("at least once", "neither"),
            lost=found in ("at most once", "neither"),
            undecided=found == UNDECIDED or bool(self.findings),
        )


def _flow(source: RecordingSource, executions: Executions, channel: Channel) -> Flow:
    return with_extras(source, executions, flow_of(source, executions, channel))


_KNOWN: WeakKeyDictionary[RecordingSource, Account] = WeakKeyDictionary()
