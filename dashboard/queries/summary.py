"""What happened, in sentences: the first thing that a job page says."""

from __future__ import annotations

from dashboard import measures
from dashboard.describing import outside
from dashboard.queries.answers import Answer, is_uneven, latest_round
from dashboard.queries.failures import Failure
from replay.model import WORLD, Manifest

FAILURES_TOLD = 3
CAUSE_SHOWN = 160


def summary(manifest: Manifest, failures: list[Failure], given: list[Answer], *, duration_us: int) -> list[str]:
    """A line on the job; or one on each of its first failures, of up to four sentences."""
    tasks, vertices = len(manifest.tasks), len(manifest.vertices)
    ran = f"{_counted(tasks, 'task', 'tasks')} of {_counted(vertices, 'vertex', 'vertices')} ran"
    ran += f" for {measures.duration(duration_us)}" if duration_us else ""
    if not failures:
        return [f"{ran}; the recording holds no failure."]
    told = [" ".join(_told(failure, given, manifest)) for failure in failures[:FAILURES_TOLD]]
    more = len(failures) - FAILURES_TOLD
    return [*told, *([f"{_counted(more, 'more failure follows', 'more failures follow')} below."] if more > 0 else [])]


def _told(failure: Failure, given: list[Answer], manifest: Manifest) -> list[str]:
    blow = f"{failure.task} failed at {measures.moment(failure.failed_us)}" + _cause(failure)
    if failure.suspected:
        blow = f"{failure.task} was taken for failed at {measures.moment(failure.failed_us)}, and fenced"
    if failure.takeover_us is not None:
        helper = "its standby took over" if failure.helper == "standby" else "it was started anew"
        after = f"after {measures.duration(failure.takeover_us)}" if failure.takeover_us else "at once"
        blow += f"; {helper} {after}"
    sentences = [f"{blow}."]
    returned = _returned(latest_round(given, failure.task, failure.next_attempt), manifest)
    if returned:
        sentences.append(returned)
    return [*sentences, _end(failure)]


def _cause(failure: Failure) -> str:
    known = failure.cause and failure.cause.lower() not in ("kill", "killed")
    if not known:
        return ""
    # All of a long one stands in the table of failures.
    cause = " ".join((failure.cause or "").split())
    return f" ({cause if len(cause) <= CAUSE_SHOWN else f'{cause[:CAUSE_SHOWN]}…'})"


def _holder(answer: Answer, manifest: Manifest) -> str:
    if answer.holder != WORLD:
        return answer.holder
    return outside(manifest.protocol).capitalize()


def _returned(round_of_answers: list[Answer], manifest: Manifest) -> str:
    held = [answer for answer in round_of_answers if answer.result == "held" and answer.own_bytes]
    if not held:
        return ""
    best = held[0]
    if len(held) == 1:
        return f"{_holder(best, manifest)} returned {measures.byte_size(best.own_bytes)} of its logs."
    amount = (
        f"up to {measures.byte_size(best.own_bytes)}"
        if is_uneven(held)
        else f"{measures.byte_size(best.own_bytes)} each"
    )
    return f"{len(held)} holders returned {amount} of its logs."


def _end(failure: Failure) -> str:
    if failure.went_on_at_a_loss:
        why = failure.escalated_why or "the recording does not say which"
        after = measures.duration(failure.recovery_us)
        return f"Choices were lost: {why}. It went on without them, and was running again {after} after the failure."
    if failure.escalated_us is not None:
        why = f"Recovery was given up after that: {failure.escalated_why or 'the recording does not say why'}."
        return f"{why} {_rollback('Every task', failure)}" if failure.rollback_us is not None else why
    if failure.again_us is not None:
        return f"It failed again at {measures.moment(failure.again_us)}, before it was running."
    if failure.rollback_us is not None:
        return _rollback("Before it was running again, every task", failure)
    if failure.recovery_us is None:
        return "The recording ends before it was running again."
    start = f" from checkpoint {failure.checkpoint}" if failure.checkpoint is not None else ""
    after = f"{measures.duration(failure.recovery_us)} after the failure" if failure.recovery_us else "at once"
    return f"Restored{start}, it was running again {after}."


def _rollback(who: str, failure: Failure) -> str:
    to = "the beginning" if failure.rollback_checkpoint in (0, None) else f"checkpoint {failure.rollback_checkpoint}"
    return f"{who} was rolled back to {to}, at {measures.moment(failure.rollback_us)}."


def _counted(number: int, one: str, many: str) -> str:
    return f"{measures.count(number)} {one if number == 1 else many}"
