"""Replays recoveries, or an attempt from its own log, from a recording: writes every step and gives a verdict."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from replay.bundle.reader import Bundle
from replay.bundle.whole_records import WholeRecords
from replay.debugger.agreeing.lacking import lack_behind, lack_of_attempt
from replay.debugger.attempt_replay import replay_attempt
from replay.debugger.diverging.findings import Findings, OnDivergence
from replay.debugger.diverging.telling import sentence_of, told
from replay.debugger.executing.following import Until
from replay.debugger.executing.verify import culprit_upstream
from replay.debugger.left_out import check_gapless, gap_instead_of
from replay.debugger.outcome import DivergenceFound, Missing, Outcome
from replay.debugger.ports import NoSteps, RecordingSource, StepSink
from replay.debugger.recorded.answers import Answers
from replay.debugger.recorded.scene import Operators, Scene, scenes_of
from replay.debugger.recorded.story import Story
from replay.debugger.recovery_replay import ROLLS_BACK, RecoveryReplay
from replay.debugger.redactions import check_shown, hidden_instead_of
from replay.debugger.together.ahead import Ahead
from replay.debugger.together.conductor import Conductor
from replay.debugger.together.connected import recovered_together
from replay.debugger.together.exchange import Attempt, Exchange
from replay.debugger.together.result import outcome_of
from replay.debugger.turns import Turns, at_once
from replay.debugger.writing.steps import Progress, StepWriter
from replay.errors import CorruptMember, printable
from replay.jobs.registry import new_operator

# `none`: nothing is returned in a recovery, and attempts are executed again from what was observed.
REPLAYABLE = ("clonos", "none", "pessimistic", "optimistic", *ROLLS_BACK)


def replay(
    source: RecordingSource,
    *,
    task: str | None = None,
    failure: int | None = None,
    attempt: int | None = None,
    until: Until = "snapshot",
    on_divergence: OnDivergence = "stop",
    sink: StepSink | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    operators: Operators = new_operator,
) -> Outcome:
    """The recovery of a failure (the first, where none is named), or with `attempt` that attempt from its own log.

    Failures of one blow, and those whose recoveries ask one another, are replayed together, in one stream of steps;
    with `task` that task's recovery alone. The verdict is the worst one then.
    `until` says how far a recovery's replay goes on beyond what was returned, along the new attempt's own choices.
    At a divergence it stops, or goes on with `on_divergence`: what the recording holds is taken for true.
    `operators` makes the operator of a vertex. What the recording contradicts is the verdict `diverged`; what it lacks
    is `unknown`, with what is missing; and so is whatever contradicts itself in a recording that isn't complete.
    Raises `ReplayError` where what was asked for isn't in the recording, and `Cancelled`.
    """
    source = source if source.manifest.complete else Bundle(WholeRecords(source.members))
    story = Story.read(source.events())
    scenes = scenes_of(source, story, task=task, failure=failure, attempt=attempt)
    sink = sink or NoSteps()
    parts = []
    for scene in scenes:
        steps = StepWriter(sink, scene.task, progress, cancelled)
        parts.append(_Part(source, story, dataclasses.replace(scene, operators=operators), steps, until, on_divergence))
    try:
        return at_once(parts[0].turns()) if len(parts) == 1 else _together(source, story, parts)
    finally:
        sink.flush()


def _together(source: RecordingSource, story: Story, parts: list[_Part]) -> Outcome:
    exchange = Exchange.between(story, [part.attempt for part in parts])
    answers = Answers(source, story)
    for part in parts:
        part.exchange, part.answers = exchange, answers
    conductor = Conductor(exchange, source.manifest.clock.kind == "virtual")
    ended = list(conductor.conduct(parts))
    lead = parts[0]
    lead.steps.count = conductor.steps
    outcome = outcome_of(lead.attempt, lead.scene.failure, [(outcome, steps) for _, outcome, steps in ended])
    causes = tuple(f"step:{part.steps.latest}" for part in parts if part.steps.latest is not None)
    lead.steps.write("finish", outcome.sentence, actor="coordinator", causes=causes)
    failures = list(recovered_together(story, source.graph, lead.scene.failure or 0))
    return dataclasses.replace(outcome, steps=lead.steps.count, detail={**outcome.detail, "failures": failures})


@dataclass(slots=True)
class _Part:
    """One attempt's replay, by itself or with others."""

    source: RecordingSource
    story: Story
    scene: Scene
    steps: StepWriter
    until: Until
    on_divergence: OnDivergence
    exchange: Exchange | None = None
    answers: Answers | None = None
    recovery: RecoveryReplay | None = None

    @property
    def attempt(self) -> Attempt:
        return self.scene.task, self.scene.attempt

    def ahead(self) -> Ahead:
        if self.recovery is None:
            return Ahead(self.story.failed_us(self.scene.failure))
        try:
            return self.recovery.ahead()
        except (DivergenceFound, Missing, CorruptMember):
            return Ahead(self.steps.t_us)  # its next turn comes upon the same, and says so

    def leaves(self) -> dict[str, str] | None:
        following = None if self.recovery is None else self.recovery.following
        return None if following is None else following.stepping.state

    def turns(self) -> Turns[Outcome]:
        """To its verdict, whatever it comes to."""
        source, story, scene, steps = self.source, self.story, self.scene, self.steps
        steps.findings = Findings(
            self.on_divergence, lambda found, number: _tell(source, story, scene, steps, found, number)
        )
        try:
            if story.unreadable is not None:
                raise DivergenceFound(
                    f"The events can't be read to their end: {story.unreadable}", member="events.ndjson"
                )
            if scene.failure is None:
                outcome = _run_attempt(source, story, scene, steps)
            else:
                outcome = yield from self._run_recovery()
            return (
                _gone_on(source, story, scene, steps)
                if steps.findings.all and outcome.verdict != "unknown"
                else outcome
            )
        except DivergenceFound as found:
            return self._ended(found)
        except CorruptMember as fault:
            where = {"member": fault.path, "offset": fault.offset}
            return self._ended(DivergenceFound(f"A member is damaged: {fault}", **where))
        except Missing as missing:
            return self._unknown(missing)

    def _ended(self, found: DivergenceFound) -> Outcome:
        missing = _unproven(self.source, self.story, self.scene, found)
        if missing is not None:
            return self._unknown(missing)
        self.steps.findings.add(found)
        return _diverged(self.scene, self.steps)

    def _unknown(self, missing: Missing) -> Outcome:
        scene, steps = self.scene, self.steps
        steps.write("finish", missing.sentence, causes=_grounds(self.story, scene, steps, "transition"))
        return _outcome("unknown", scene, steps, missing.sentence, missing.detail)

    def _run_recovery(self) -> Turns[Outcome]:
        source, story, scene, steps = self.source, self.story, self.scene, self.steps
        steps.t_us = story.failed_us(scene.failure)
        _known_protocol(source)
        replayed = self.recovery = RecoveryReplay(
            source, story, scene, steps, until=self.until, answers=self.answers, exchange=self.exchange
        )
        try:
            verdict, sentence = yield from replayed.turns()
        except DivergenceFound as found:
            lack = lack_behind(source, found)
            if lack is None:
                raise
            replayed.walk_log()
            raise lack.instead_of(found) from None
        if verdict == "identical":
            _check_whole(source, story, scene)
        steps.write("finish", sentence, causes=_grounds(story, scene, steps, "transition"))
        return _outcome(verdict, scene, steps, sentence, replayed.detail)


def _not_complete(found: DivergenceFound) -> Missing:
    """Where members end anywhere, what follows from an end looks like a contradiction."""
    return Missing(
        f"The recording is not complete, as its manifest says, so that what is not there yet may be all that is wrong. "
        f"So it can't be said whether the replay is identical. What was found: {found.sentence}",
        **{**found.detail, "complete": False},
    )


def _unproven(source: RecordingSource, story: Story, scene: Scene, found: DivergenceFound) -> Missing | None:
    """What is said in its place where it may come of what the recording does not hold."""
    if not source.manifest.complete:
        return _not_complete(found)
    return hidden_instead_of(source, scene.task, found) or gap_instead_of(story, scene, found)


def _known_protocol(source: RecordingSource) -> None:
    """Another protocol's recovery follows other rules: what Clonos' rules make of it would say nothing."""
    name = source.manifest.protocol.name
    if name not in REPLAYABLE:
        raise Missing(
            f"The recording was made under the protocol {printable(name)}, whose recovery this version cannot replay; "
            f"it knows {' and '.join(REPLAYABLE)}.",
            protocol=name,
        )


def _run_attempt(source: RecordingSource, story: Story, scene: Scene, steps: StepWriter) -> Outcome:
    try:
        sentence, detail = replay_attempt(source, story, scene, steps)
    except DivergenceFound as found:
        lack = lack_behind(source, found)
        if lack is None:
            raise
        raise lack.instead_of(found) from None
    _check_whole(source, story, scene)
    steps.write("finish", sentence, causes=steps.caused_by("restore"))
    return _outcome("identical", scene, steps, sentence, detail)


def _check_whole(source: RecordingSource, story: Story, scene: Scene) -> None:
    """What is hidden, left out or gone may have differed."""
    check_shown(source, scene.task)
    check_gapless(story, scene)
    lack = lack_of_attempt(source, scene.task, scene.attempt)
    if lack is not None:
        raise lack.instead_of_nothing()


def _grounds(story: Story, scene: Scene, steps: StepWriter, *kinds: str) -> tuple[str, ...]:
    """The last steps of these kinds; where there is none, the last step, or the event that the replay began from."""
    if before := steps.caused_by(*kinds):
        return before
    if steps.latest is not None:
        return (f"step:{steps.latest}",)
    if scene.failure is None:
        return story.start_of(scene.task, scene.attempt)[1]
    number = story.failure(scene.failure).get("n")
    return (f"event:{number}",) if isinstance(number, int) else ()


def _tell(
    source: RecordingSource, story: Story, scene: Scene, steps: StepWriter, found: DivergenceFound, number: int
) -> tuple[str, dict[str, Any]]:
    """Writes the step of a divergence. Of the first the reason is looked for; the others may follow from it."""
    if number == 1:
        if steps.findings.goes_on:
            found = culprit_upstream(source, story, scene.task, found)
        detail = told(source, story, steps, found)
        sentence = sentence_of(found, detail)
    else:
        detail, sentence = dict(found.detail), f"Divergence {number}: {found.sentence}"
    thread, offset = detail.get("thread"), detail.get("offset")
    step = steps.write(
        "diverge",
        sentence,
        actor=str(thread or "main"),
        causes=_grounds(story, scene, steps, "take-buffer", "take-determinant", "cut-buffer", "hold-back", "answer"),
        log=thread,
        log_offset=offset if thread is not None and isinstance(offset, int) else None,
        channel=detail.get("channel"),
        buffer=detail.get("buffer"),
    )
    return sentence, {**detail, "step": step}


def _diverged(scene: Scene, steps: StepWriter) -> Outcome:
    findings = steps.findings
    return _outcome("diverged", scene, steps, findings.all[0].sentence, findings.detail())


def _gone_on(source: RecordingSource, story: Story, scene: Scene, steps: StepWriter) -> Outcome:
    """Past divergences to the end; they prove nothing where the recording lacks something that was there."""
    first = steps.findings.all[0]
    found = DivergenceFound(first.sentence, **first.detail)
    lack = lack_behind(source, found)
    missing = _unproven(source, story, scene, found) if lack is None else lack.instead_of(found)
    if missing is None:
        return _diverged(scene, steps)
    return _outcome("unknown", scene, steps, missing.sentence, missing.detail)


def _outcome(verdict: Any, scene: Scene, steps: StepWriter, sentence: str, detail: dict[str, Any]) -> Outcome:
    return Outcome(verdict, sentence, scene.task, scene.attempt, scene.failure, steps.count, detail)
