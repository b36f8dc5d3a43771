"""Records what a random command line says, replays all of it, and holds each replay against the live recovery."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.reader import Bundle
from replay.debugger.outcome import Outcome
from replay.debugger.ports import BufferRow, Change, NoSteps, Step, StepRow, Told
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.debugger.together.connected import groups
from replay.debugger.together.result import WORST_FIRST
from replay.debugger.writing.state_keys import flat
from replay.jobs.options import RecordOptions
from replay.jobs.record import run_of
from replay.protocols import PROTOCOLS
from replay.runtime.engine import Engine
from replay.runtime.recorder import MemoryMembers
from replay.simulation.commands import random_options
from replay.simulation.fleet import side_by_side

_NO_STATE_OF_OPERATOR = ("source.offset", "watermark_ms")
_BLOCK = 10


@dataclass(frozen=True, slots=True)
class Replayed:
    """What the replays of one recording came to; no faults is good. `verdicts` counts those of failures."""

    seed: int
    command: str
    faults: tuple[str, ...]
    verdicts: Counter[str] = field(default_factory=Counter)
    attempts: Counter[str] = field(default_factory=Counter)
    snapshots: int = 0
    together: Counter[str] = field(default_factory=Counter)


def recorded(options: RecordOptions) -> Bundle:
    """The recording that a command line makes, in memory."""
    run = run_of(options, PROTOCOLS)
    members = MemoryMembers()
    Engine(run, members).run()
    files = {name: bytes(data) for name, data in members.members.items()}
    return Bundle(MembersInMemory({**files, "job.json": run.manifest.to_bytes()}))


def replays_of(seed: int) -> Replayed:
    """Replays every recovery of the recording of that seed to its end, and every attempt from its own log."""
    options = random_options(seed)
    bundle = recorded(options)
    story = Story.read(bundle.events())
    check = _Check(bundle, story)
    for failure in sorted(story.failures):
        check.recovery(failure)
    for group in groups(story, bundle.graph):
        if len(group) > 1:
            check.recoveries(group)
    for task in bundle.tasks():
        for attempt in bundle.attempts(task):
            check.attempt(task, attempt)
    return Replayed(
        seed, options.command(), tuple(check.faults), check.verdicts, check.attempts, check.snapshots, check.together
    )


def all_replays(seeds: Sequence[int], *, processes: int = 1) -> Iterator[Replayed]:
    """Of many recordings, in their order."""
    return side_by_side(_block, seeds, processes=processes, block=_BLOCK)


def _block(seeds: Sequence[int]) -> list[Replayed]:
    return [replays_of(seed) for seed in seeds]


class _Kept(NoSteps):
    """A step sink that keeps what the checks look at: states entered, and state keys as they stand."""

    def __init__(self) -> None:
        self.states: list[str] = []
        self.last: StepRow | None = None
        self.state: dict[str, str] = {}
        self.mismatches = 0
        self.snapshots: list[tuple[int, dict[str, str]]] = []
        self.said: dict[str, list[int]] = defaultdict(list)

    def step(self, told: Told) -> None:
        row = Step._make(told).row()
        if row.kind == "transition" and (not self.states or self.states[-1] != row.state):
            self.states.append(row.state)
        if row.kind == "snapshot":
            self.snapshots.append((int(row.text.split("checkpoint ")[1].split(":")[0]), dict(self.state)))
        self.last = row
        if row.actor != "coordinator":
            # What is said when all are over is nobody's; a number of a step is its place in the stream.
            self.said[row.task].append(hash(row[1:]))

    def state_changes(self, step: int, task: str, changes: Sequence[Change]) -> None:
        for key, _, after in changes:
            if after is None:
                self.state.pop(key, None)
            else:
                self.state[key] = after

    def buffer(self, row: BufferRow) -> None:
        self.mismatches += row.matches is False


class _Check:
    """Everything that must hold of the replays of one recording."""

    def __init__(self, bundle: Bundle, story: Story):
        self.bundle = bundle
        self.story = story
        self.faults: list[str] = []
        self.verdicts: Counter[str] = Counter()
        self.attempts: Counter[str] = Counter()
        self.together: Counter[str] = Counter()
        self.snapshots = 0
        self._alone: dict[int, tuple[Outcome, list[int]]] = {}

    def recovery(self, failure: int) -> None:
        """One failure, followed to the end of the attempt that came after it."""
        kept = _Kept()
        task = str(self.story.failure(failure).get("task"))
        outcome = replay(self.bundle, task=task, failure=failure, until="end", sink=kept)
        self.verdicts[outcome.verdict] += 1
        self._alone[failure] = outcome, kept.said[outcome.task]
        where = f"failure {failure} ({outcome.task}, attempt {outcome.attempt}): {outcome.sentence}"
        expected = self._expected(outcome)
        if outcome.verdict != expected:
            self.faults.append(f"is {outcome.verdict} and not {expected}: {where}")
            return
        if kept.mismatches:
            self.faults.append(f"{kept.mismatches} buffers differ: {where}")
        if not {"beyond", "not_followed", "ended_before_replaying"} & set(outcome.detail) and not self._gave_up(
            outcome
        ):
            self.faults.append(f"does not say what came after the recovery: {where}")
        if kept.last is None or kept.last.kind != "finish" or kept.last.text != outcome.sentence:
            self.faults.append(f"does not end with its verdict: {where}")
        self._check_states(outcome, kept, where)
        self._check_snapshots(outcome, kept, where)

    def recoveries(self, group: Sequence[int]) -> None:
        """Those of failures that are connected: each does in the common stream what it does alone."""
        kept = _Kept()
        outcome = replay(self.bundle, failure=group[0], until="end", sink=kept)
        self.together[outcome.verdict] += 1
        where = f"failures {list(group)} together: {outcome.sentence}"
        # Two failures of which one attempt comes after are one recovery.
        parts = {(one.task, one.attempt or 0): (one, said) for one, said in (self._alone[failure] for failure in group)}
        alone = [parts[part] for part in sorted(parts)]
        worst = min((one.verdict for one, _ in alone), key=WORST_FIRST.index)
        if outcome.verdict != worst:
            self.faults.append(f"is {outcome.verdict} and not {worst}: {where}")
        for task in {one.task for one, _ in alone}:
            said = [one for of, rows in alone if of.task == task for one in rows]
            if kept.said[task] != said:
                self.faults.append(f"{task} does {len(kept.said[task])} steps, and {len(said)} alone: {where}")

    def attempt(self, task: str, attempt: int) -> None:
        """One attempt from its own log."""
        outcome = replay(self.bundle, task=task, attempt=attempt)
        self.attempts[outcome.verdict] += 1
        names = self.bundle.members.names(f"tasks/{task}/{attempt}/")
        expected = "identical" if any(name.endswith(".det") for name in names) else "unknown"
        if outcome.verdict != expected:
            where = f"attempt {attempt} of {task}: {outcome.sentence}"
            self.faults.append(f"is {outcome.verdict} and not {expected}: {where}")

    # --- what must hold ---

    def _gave_up(self, outcome: Outcome) -> bool:
        """Whether everything was rolled back instead of this recovery, which had replayed nothing."""
        return self.story.was_rolled_back_to(outcome.task, (outcome.attempt or 0) + 1)

    def _expected(self, outcome: Outcome) -> str:
        """Identical wherever determinants were returned, unless a rollback took the recovery's place."""
        task, attempt = outcome.task, outcome.attempt or 0
        if self.story.was_rolled_back_to(task, attempt) or not any(self.story.returned_to(task, attempt).values()):
            return "free"
        if self._gave_up(outcome) and "Replaying" not in self._recorded_states(task, attempt):
            # Whether its answers were all in does not depend on what is looked at here.
            return outcome.verdict if outcome.verdict in ("free", "identical") else "free"
        return "identical"

    def _recorded_states(self, task: str, attempt: int) -> list[str]:
        events = self.story.of_attempt.get((task, attempt), ())
        return [str(event["to"]) for event in events if event.get("type") == "recovery-state"]

    def _check_states(self, outcome: Outcome, kept: _Kept, where: str) -> None:
        """The replay goes through the states that the live recovery went through, and no others before it ended."""
        recorded_states = self._recorded_states(outcome.task, outcome.attempt or 0)
        seen = [state for state in kept.states if state != "Standby"]
        if self.story.was_rolled_back_to(outcome.task, outcome.attempt or 0) or not recorded_states:
            return
        if seen[: len(recorded_states)] != recorded_states:
            self.faults.append(f"goes through {seen} where {recorded_states} were recorded: {where}")

    def _check_snapshots(self, outcome: Outcome, kept: _Kept, where: str) -> None:
        """The operator's state, as the steps' changes add up to, is what the live attempt's snapshots hold."""
        for checkpoint, state in kept.snapshots:
            snapshot = self.bundle.state(outcome.task, outcome.attempt or 0, checkpoint)
            if snapshot is None:
                continue  # the attempt ended before it was complete
            self.snapshots += 1
            added_up = {key: value for key, value in state.items() if key not in _NO_STATE_OF_OPERATOR}
            written = flat(snapshot.get("operator", {}))
            if added_up != written and not outcome.detail.get("state_resolution"):
                differing = sorted(key for key in {*added_up, *written} if added_up.get(key) != written.get(key))
                self.faults.append(f"state at checkpoint {checkpoint} differs in {differing[:5]}: {where}")
