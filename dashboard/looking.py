"""Steps of a replay at the command line: one with its causes and effects, and all hits of a search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from dashboard.queries import effects, why
from dashboard.queries.moving import moved
from dashboard.queries.recorded import DELTA, DETERMINANT, EVENT, sentence_of_event
from ingest.lake.step_reader import StepReader
from ingest.lake.step_search import StepSearch
from replay.debugger.ports import RecordingSource
from replay.debugger.searching.structured import read
from replay.debugger.writing.words import counted, said

DEPTH = 12
MOST_EFFECTS = 5
MOST_CHANGES = 20
MOST_HITS = 1_000
HITS_SHOWN = 20

Described = Callable[[list[str]], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Look:
    """`at`: words that lead to a step from the first one; `find`: a search."""

    at: str | None = None
    find: str | None = None

    def __bool__(self) -> bool:
        return self.at is not None or self.find is not None

    def check(self) -> None:
        """Raises `WrongSearch` where the search can't be read."""
        if self.find is not None:
            read(self.find)


def looked(written: StepReader, job_id: str, look: Look, described: Described | None = None) -> dict[str, Any]:
    """What there is to see, for programs. `described` tells what places of the recording say, where no lake does."""
    seen: dict[str, Any] = {}
    if look.at is not None:
        seen["at"] = _at(written, job_id, look.at, described)
    if look.find is not None:
        seen["find"] = _found(written, look.find)
    return seen


def in_words(seen: dict[str, Any], steps: int) -> str:
    """The same for people."""
    lines: list[str] = []
    if at := seen.get("at"):
        lines += _words_of_step(at, steps) if at["step"] else [f"  {at['why']}"]
    if found := seen.get("find"):
        lines.append(f"  {found['hits']:,} of {steps:,} steps are hits.")
        lines += [_line_of(row) for row in found["steps"][:HITS_SHOWN]]
        if found["hits"] > HITS_SHOWN:
            lines.append(f"    and {found['hits'] - HITS_SHOWN:,} more.")
    return "\n".join(lines)


def of_bundle(bundle: RecordingSource) -> Described:
    """What places of a recording say, read from the bundle itself."""
    return lambda refs: [{"ref": ref, "kind": "recorded", "text": _recorded(bundle, ref), "row": None} for ref in refs]


def _at(written: StepReader, job_id: str, words: str, described: Described | None) -> dict[str, Any]:
    landing = moved(written, written.step(0) or {}, words, [])
    row = None if landing.step is None else written.step(landing.step)
    if row is None:
        return {"step": None, "why": landing.why}
    found = why.chain(written, job_id, row["step"], DEPTH, described)
    followed = effects.of(written, row["step"], MOST_EFFECTS)
    changes = written.rows(
        "SELECT task, key, before, after FROM state_changes WHERE step = $step ORDER BY key, task LIMIT $most",
        {"step": row["step"], "most": MOST_CHANGES},
    )
    return {
        "step": row,
        "instead": landing.instead,
        "causes": found["causes"],
        "chains": [[asdict(hop) for hop in chain] for chain in found["chains"]],
        "effects": followed["steps"],
        "effects_left_out": followed["left_out"],
        "changes": [dict(zip(("task", "key", "before", "after"), one, strict=True)) for one in changes],
    }


def _found(written: StepReader, text: str) -> dict[str, Any]:
    search, steps = read(text), list[dict[str, Any]]()
    with StepSearch(written, [search]) as found:
        hits = sum(one.hits for window in found.binned(1) for one in window)
        at = found.after(-1)
        while at is not None and len(steps) < min(hits, MOST_HITS):
            steps += written.between(at, at + 1)
            at = found.after(at)
    return {"hits": hits, "steps": steps, "left_out": hits - len(steps)}


def _words_of_step(at: dict[str, Any], steps: int) -> list[str]:
    row, causes = at["step"], {one["ref"]: one["text"] for one in at["causes"]}
    where = f"{row['task']} {row['actor']}, {row['state']}, epoch {row['epoch']}, record {row['record_count']:,}"
    lines = [f"  step {row['step']:,} of {steps:,}: {where}, {row['t_us'] / 1e6:.6f} s, {row['kind']}"]
    lines += [f"    {text}" for text in (at["instead"], row["text"]) if text]
    for hop in at["chains"][0][1:]:
        folded = f" (by way of {len(hop['folded'])} steps of the recovery)" if hop["folded"] else ""
        lines.append(f"  because {hop['ref']}{folded}: {causes.get(hop['ref'], '')}")
    if len(at["chains"]) > 1:
        lines.append(f"  and by {counted(len(at['chains']) - 1, 'more way')}.")
    lines += [f"  so that step {one['step']:,}: {one['text']}" for one in at["effects"]]
    if at["effects_left_out"]:
        lines.append(f"  and {at['effects_left_out']:,} more.")
    absent = "nothing"
    lines += [f"  state {one['key']}: {one['before'] or absent} to {one['after'] or absent}" for one in at["changes"]]
    return lines


def _line_of(row: dict[str, Any]) -> str:
    return f"    step {row['step']:,}, {row['task']} {row['actor']}, {row['kind']}: {row['text']}"


def _recorded(bundle: RecordingSource, ref: str) -> str:
    if match := EVENT.fullmatch(ref):
        event = next((one for one in bundle.events() if one.get("n") == int(match["n"])), None)
        return "" if event is None else sentence_of_event(event)
    if match := DETERMINANT.fullmatch(ref):
        log = bundle.determinants(match["task"], int(match["attempt"]), match["thread"], int(match["epoch"]))
        found = next((one for n, (_, _, one) in enumerate(log) if n == int(match["seq"])), None)
        return "" if found is None else f"The {match['thread']} log of {match['task']} says that {said(found)}."
    if match := DELTA.fullmatch(ref):
        return f"Buffer {match['seq']} on {match['channel']} carried bytes of {match['task']}'s {match['thread']} log."
    return ""
