"""Rows of the database as those see them who may not see what their job says: structure stays, words become signs."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable
from typing import Any

from dashboard import payloads
from dashboard.models import Breakpoint, Job, Note, Replay
from ingest.lake.sealing import SIGN
from replay.debugger.searching.conditions import asks_for_values
from replay.debugger.searching.structured import read
from replay.errors import ReplayError
from replay.guarantees.expecting import QUESTIONS
from replay.guarantees.in_one_sentence import verdict_sentence
from replay.guarantees.reporting.evidence import evidence

# Of a replay's detail what says where and how much, and not what.
STRUCTURE = frozenset((
    "step", "task", "tasks", "kind", "verdict", "attempt", "attempts", "failure", "steps", "epoch", "at_epoch",
    "record_count", "records", "offset", "byte", "buffer", "determinant", "member", "other_member",
    "other_offset", "source_record", "channel", "output", "outputs", "changed", "gone", "new", "uncompared",
    "may_be_affected", "first", "last", "count", "number", "stream", "thread", "orphans", "downstream",
    "depends_on", "returned", "left_out", "file", "line", "function", "code", "divergences", "stopped",
    "further", "predecessors", "last_agreeing", "reason", "fork", "hunt", "readings", "perturbed", "moved",
    "surroundings", "method", "during", "through", "package", "operators", "calls", "call", "name", "times",
    "keys", "record", "enough", "tried", "differences", "second", "second_failure", "checkpoint", "together",
    "untouched", "recovery", "answers", "cannot_be_affected", "t_us", "state", "change", "depth", "holder",
    "operator", "seed", "at_ms",
))  # fmt: skip
# What a claim of an audit may be about that is no value.
GRAPH = frozenset((
    "job", "task", "vertex", "channel", "sink", "source", "host", "failure", "attempt", "checkpoint", "epoch", "cut",
    "buffer", "event", "log", "state", "time",
))  # fmt: skip
# Names in the numbers of its sections, beside those of a replay's detail.
AUDIT_STRUCTURE = STRUCTURE | {
    "heat", "ends_us", "host", "task_or_world", "host_or_world", "smallest", "full", "recorded", "exact", "at_least",
    "f", "holds", "broken_us", "first_us", "at_us", "size", "in_flight", "decided", "cut", "rebuilt", "held_back",
    "sent", "sent_again", "received", "taken", "taken_again", "not_taken", "lost", "orphans", "completed_us",
    "actual_us", "equation_us", "predicted_us", "caught_up_us", "error_us", "age_us", "standby", "rolled_back",
    "gap", "divergent", "rollback", "convergent", "repeating", "undecided", "superseded", "precise",
    "diverged", "uncovered", "unknown", "covered", "deterministic", "not looked at", "status", "type",
    "repeated", "differs",
}  # fmt: skip
_PLAIN_LINES = (
    re.compile(r"(Stored “.*”: [0-9]+ bytes, content [0-9a-f]+\. Queued for ingest\.)"),
    re.compile(r"(Replay r_\w+ queued): .*"),
    re.compile(r"(Replay r_\w+ ended, [a-z]+): .*"),
    re.compile(r"(Ingest, attempt [0-9]+, (?:started\.|published: [a-z-]+)).*"),
    re.compile(r"(Audit, attempt [0-9]+, started\.|Audit ended, [a-z ]*\.|.* asked for an audit\.)"),
    re.compile(r"(.* cancelled the (?:job|audit)\.|.* (?:cancelled|deleted) replay r_\w+\.)"),
)


def shown_replay(replay: Replay) -> Replay:
    """The row itself where its job is open; else a copy that says as much as may be said, and is never to be saved."""
    if payloads.may_show(replay.job_id):
        return replay
    sealed = copy.copy(replay)
    sealed.hidden = True
    sealed.message, sealed.sentence = _sign(replay.message), _sign(replay.sentence)
    sealed.detail, sealed.change = _masked(replay.detail, foreign=replay.elsewhere), _masked(replay.change)
    sealed.before = [{**one, "change": _masked(one.get("change"))} for one in replay.before]
    return sealed


def shown_replays(replays: Iterable[Replay]) -> list[Replay]:
    return [shown_replay(one) for one in replays]


def shown_job(job: Job) -> Job:
    """The same of a job; of one that is open the row itself."""
    if payloads.may_show(job.id):
        return job
    sealed = copy.copy(job)
    sealed.hidden, sealed.message = True, _sign(job.message)
    sealed.facts = {**job.facts, "failures": [_masked(one) for one in job.facts.get("failures", [])]}
    if "delivery" in job.facts:
        sealed.facts["delivery"] = sealed_delivery(job.facts["delivery"])
    return sealed


def sealed_delivery(told: dict[str, Any]) -> dict[str, Any]:
    """How often, where and by which line; its sentence and what is missing quote no value."""
    quoting = {name: [{**one, "said": _masked(one["said"])} for one in told[name]] for name in ("twice", "choices")}
    return {**told, **quoting}


def sealed_report(report: dict[str, Any]) -> dict[str, Any]:
    """Of an audit what was decided of what, by which evidence; sentences and the names of values may quote them."""
    verdicts = {name: report[name] for name in QUESTIONS}
    return {
        **report,
        "sentence": verdict_sentence(verdicts),
        "sections": [_sealed_section(one) for one in report["sections"]],
        "undecided": [{**one, "about": _sealed_name(one["about"]), "sentence": SIGN} for one in report["undecided"]],
    }


def _sealed_section(section: dict[str, Any]) -> dict[str, Any]:
    question = section["name"] in QUESTIONS
    return {
        **section,
        "sentence": verdict_sentence({section["name"]: section["verdict"]}) if question else SIGN,
        "claims": [
            {
                **one,
                "about": _sealed_name(one["about"]),
                "sentence": SIGN,
                "evidence": [name if evidence(name) else SIGN for name in one["evidence"]],
            }
            for one in section["claims"]
        ],
        "lacks": [{**one, "about": _sealed_name(one["about"]), "sentence": SIGN} for one in section["lacks"]],
        "numbers": {name: _counts_alone(value) for name, value in section["numbers"].items()},
    }


def _sealed_name(about: str) -> str:
    """Of what is no part of the graph or the run, as a key, that it is there."""
    kind, colon, _ = about.partition(":")
    return about if kind in GRAPH else f"{kind}{colon}{SIGN}" if colon else SIGN


def _counts_alone(value: Any) -> Any:
    """Numbers, under names that the program gave them."""
    if isinstance(value, dict):
        return {name: _counts_alone(one) for name, one in value.items() if name in AUDIT_STRUCTURE}
    if isinstance(value, list):
        return [_counts_alone(one) for one in value]
    return SIGN if isinstance(value, str) else value


def shown_note(note: Note, job_id: str, reader: Any) -> Note:
    """What somebody wrote may quote what they saw; one's own words stay."""
    if payloads.may_show(job_id) or note.author_id == reader.pk:
        return note
    sealed = copy.copy(note)
    sealed.text = SIGN
    return sealed


def shown_breakpoint(one: Breakpoint, job_id: str) -> Breakpoint:
    if payloads.may_show(job_id):
        return one
    sealed = copy.copy(one)
    sealed.label = _sign(one.label)
    sealed.search = one.search if _is_structural(one.search) else SIGN
    return sealed


def shown_log(job_id: str, text: str) -> str:
    """A job's readable log: of lines that may quote a recording, what was done and when."""
    if payloads.may_show(job_id):
        return text
    return "".join(f"{_shown_line(line)}\n" for line in text.splitlines())


def _is_structural(text: str) -> bool:
    try:
        return not asks_for_values(read(text))
    except ReplayError:
        return False


def _shown_line(line: str) -> str:
    stamp, rest = line[:19], line[20:]
    found = next((match for one in _PLAIN_LINES if (match := one.fullmatch(rest))), None)
    if found is None:
        return f"{stamp} {SIGN}"
    return f"{stamp} {found[1]}" + ("" if found[1] == rest else f" {SIGN}")


def _masked(value: Any, *, plain: bool = False, foreign: bool = False) -> Any:
    """`foreign`: what was uploaded may have words anywhere, so that numbers alone are structure."""
    if isinstance(value, dict):
        known = {name: one for name, one in value.items() if name in STRUCTURE or not foreign}
        return {name: _masked(one, plain=name in STRUCTURE, foreign=foreign) for name, one in known.items()}
    if isinstance(value, list):
        return [_masked(one, plain=plain, foreign=foreign) for one in value]
    if foreign and isinstance(value, str):
        return SIGN
    return value if plain or value is None or isinstance(value, bool) else SIGN


def _sign(text: str) -> str:
    return SIGN if text else ""
