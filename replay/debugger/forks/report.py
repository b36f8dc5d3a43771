"""Where a fork and its parent part, which outputs that changed, which it might have, and which it can't have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from replay.debugger.forks.together import others_of, told_of_others
from replay.debugger.recorded.members import placed_receipts
from replay.debugger.sides.closure import told
from replay.debugger.sides.ledger import WRITES, Span, counted_of
from replay.debugger.writing.words import counted, listed

if TYPE_CHECKING:
    from replay.debugger.forks.fork import Forked

_NOUNS = {"step": "step", "determinant": "determinant", "input": "record taken", "state": "state", "output": "output"}


def may_be_affected(forked: Forked) -> list[Span]:
    """Of each output of the task, what the parent gave at the forked step or after it: it alone has that among its
    causes."""
    ledger = forked.parent.ledger
    return [ledger.since(output, forked.stage.at) for output in ledger.outputs]


def _first_of_all(forked: Forked) -> dict[str, int]:
    """By output, the first buffer that any change of the chain may affect: tasks below took what was recorded."""
    first: dict[str, int] = {}
    for stage in forked.made.stages:
        for output, number in stage.first.items():
            first[output] = min(number, first.get(output, number))
    return {output: number for output, number in first.items() if output != WRITES}


def report_of(forked: Forked) -> dict[str, Any]:
    """As JSON, with the sentence that says it."""
    parent, made = forked.parent, forked.made
    task = made.source.graph.task(made.scene.task)
    spans = may_be_affected(forked)
    like = dict(parent.ledger.like(made.ledger))
    # What the parent would have given beyond its end is not known.
    uncompared = like.pop("new") if forked.parent_ended else []
    first = _first_of_all(forked)
    for output in task.outputs:
        first.setdefault(output.channel, 0)
    world = made.last.world
    report: dict[str, Any] = {
        "step": forked.stage.at,
        "words": forked.stage.words,
        "forks": len(made.stages),
        "equal": not forked.differences and not forked.ended,
        "differences": [one.to_json() for one in forked.differences],
        "may_be_affected": [span.to_json() for span in spans if span.size],
        "cannot_be_affected": parent.ledger.total() - counted_of(spans),
        "outputs": {"new": []} | {kind: [span.to_json() for span in of_kind] for kind, of_kind in like.items()},
        "parent_ended": forked.parent_ended,
        "uncompared": [span.to_json() for span in uncompared],
        **told(made.source, task.id, made.scene.attempt, first),
        "orphans": _orphans(forked),
        "second_failure": None if forked.stage.survival is None else forked.stage.survival.to_json(),
        "ended": forked.ended,
        "new_execution": world is not None and (world.left_at is not None or not world.kept),
        "made_up": dict(world.made_up) if world is not None else {},
    }
    others = others_of(made.source, made.story, made.scene)
    report["together"] = told_of_others(others, report["downstream"], forked.stage.asked)
    report["sentence"] = _sentence(forked, report, like)
    return report


def _orphans(forked: Forked) -> list[dict[str, Any]]:
    """Receivers that had received what the fork makes otherwise: they depend on what is not there any more."""
    comparison = forked.made.last.comparison
    if comparison is None or (forked.made.scene.failure is None and forked.made.again is None):
        return []
    outputs = forked.made.source.graph.task(forked.made.scene.task).outputs
    return [
        {"task": outputs[k].channel.partition(">")[2], "channel": outputs[k].channel, "buffer": seq}
        for k, seq in sorted(comparison.orphans.items())
        if seq <= _had_received(forked, k)
    ]


def _had_received(forked: Forked, k: int) -> int:
    """The last buffer that the receiver had when the task failed again; all of them, where it did not."""
    survival, source = forked.stage.survival, forked.made.source
    if forked.made.again is None or survival is None:
        return 1 << 62
    channel = source.graph.channel(source.graph.task(forked.made.scene.task).outputs[k].channel)
    receipts = (
        receipt
        for attempt in source.attempts(channel.target)
        for _, _, receipt in placed_receipts(source, channel.target, attempt, channel.i)
    )
    return max((one.seq for one in receipts if one.received_us <= survival.t_us), default=-1)


def _sentence(forked: Forked, report: dict[str, Any], like: Any) -> str:
    again = f", itself fork {len(forked.made.stages) - 1} of one replay," if len(forked.made.stages) > 1 else ""
    own = f" of {forked.made.scene.task}'s own replay" if report["together"] else ""
    parts = [f"Forked{again} at step {forked.stage.at:,}{own}: {forked.stage.words}."]
    if forked.said and forked.said not in parts[0]:
        parts.append(f"{forked.said.rstrip('.')}.")
    if forked.ended:
        parts.append(f"The fork ends early: {forked.ended}")
    parts.append(_first(forked))
    counts = [
        (counted_of(like["changed"]), "changed"),
        (counted_of(like["gone"]), "not made"),
        (counted_of(like.get("new", [])), "made anew"),
    ]
    told = [f"{counted(number, 'output')} {what}" for number, what in counts if number]
    may = sum(one["count"] for one in report["may_be_affected"])
    same = max(0, may - counted_of(like["changed"]) - counted_of(like["gone"]))
    told.append(f"{counted(same, 'output')} that might have changed came out the same")
    parts.append(f"{listed(told).capitalize()}; {counted(report['cannot_be_affected'], 'output')} can't be affected.")
    if forked.parent_ended:
        parts.append(
            f"Its parent goes no further than step {forked.parent_steps - 1:,}: {forked.parent_ended.rstrip('.')}."
        )
    if report["new_execution"]:
        parts.append("Where the log does not apply it is a new execution.")
    if report["together"]:
        who = listed([one["task"] for one in report["together"]])
        parts.append(f"What {who} would do otherwise, recovering at the same time, is not worked out.")
    if report["orphans"]:
        who = listed([f"{one['task']} (buffer {one['buffer']})" for one in report["orphans"]])
        parts.append(f"It contradicts what {who} had received: orphans.")
    return " ".join(parts)


def _first(forked: Forked) -> str:
    if not forked.differences:
        return "It does what its parent did."
    found = forked.differences[0]
    item = found.second or found.first
    said = "" if item is None else item.said
    others = [_NOUNS[one.stream] for one in forked.differences[1:]]
    rest = f"; then in {listed(others)}" if others else ""
    at = "" if item is None else f" at step {item.step:,}, record {item.record_count:,} of epoch {item.epoch}"
    return f"It first differs in {_NOUNS[found.stream]}{at}{rest}: {said.rstrip('.')}."
