"""Random searches and random steps, and what plain Python finds by looking at every pair of steps.

A search is drawn as its text together with a function from steps to hits, written down without the product's parser,
conditions or SQL: both must come to the same.
"""

from __future__ import annotations

import json
import operator
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from ingest.lake.step_reader import StepReader
from ingest.lake.steps import ParquetStepSink
from replay.debugger.ports import BufferRow, StepRow, step_of

TASKS = ("join.0", "join.1")
KINDS = ("take-buffer", "send-buffer", "hold-back", "diverge", "transition")
STATES = ("Standby", "Replaying", "Running")
CHANNELS = ("a.0>join.0", "join.0>b.1", None)
DETERMINANTS = ("order", "timestamp", "timer-trigger")
KEYS = ("left[1]", "left[2]", "sum")
VALUES = (
    None, "3", "-4.5", '"x"', '"3"', "[1]", "null", "true", "NaN",
    '{"price":3,"of":["é",{"n":-2}]}', '{"price":"x","of":[]}',
)  # fmt: skip
MEMBERS = {"price": ("price",), "of": ("of",), "of.0": ("of", 0), "of.1.n": ("of", 1, "n"), "0": (0,)}
TEXTS = ("Takes buffer 1.", 'It\'s "so".', "%_\\", "")
Facts = dict[str, Any]
Hits = Callable[["Steps"], set[int]]


@dataclass
class Steps:
    """Steps of a task or two, with what stands in the tables beside them."""

    rows: list[Facts] = field(default_factory=list)
    changes: list[Facts] = field(default_factory=list)
    differing: set[int] = field(default_factory=set)
    unproven: set[int] = field(default_factory=set)

    @classmethod
    def drawn(cls, seed: int, sink: ParquetStepSink, *, chunks: int) -> Steps:
        rng, steps = random.Random(seed), cls()
        count, tasks = rng.choice((0, 1, 30, 80)), rng.choice((TASKS, TASKS[:1]))
        epochs = dict.fromkeys(tasks, 0)
        for step in range(count):
            task = rng.choice(tasks)
            epochs[task] += rng.random() < 0.1
            row = {
                "step": step, "task": task, "thread": rng.choice(("main", "out-0")), "kind": rng.choice(KINDS),
                "state": rng.choice(STATES), "epoch": epochs[task], "record": rng.randrange(4),
                "time": step * 500_000, "log": rng.choice(("main", None)), "offset": rng.choice((None, 0, 7)),
                "channel": rng.choice(CHANNELS), "buffer": rng.choice((None, 0, 1)),
                "bytes": rng.choice((None, 10, 2048)), "text": rng.choice(TEXTS),
            }  # fmt: skip
            sink.step(step_of(StepRow(*row.values())))
            row |= {"determinant": None, "value": None, "name": None}
            if rng.random() < 0.4:
                taken = (rng.choice(DETERMINANTS), rng.choice((None, 0, 3)), rng.choice((None, "idle")))
                sink.taken(step, task, *taken)
                row |= dict(zip(("determinant", "value", "name"), taken, strict=True))
            steps.rows.append(row)
            for key in rng.sample(KEYS, rng.choice((0, 0, 1, 2))):
                change = {"step": step, "key": key, "before": rng.choice(VALUES), "after": rng.choice(VALUES)}
                sink.state_changes(step, task, [(key, change["before"], change["after"])])
                steps.changes.append(change)
            if rng.random() < 0.2:
                matches = rng.choice((True, False, None))
                sink.buffer(BufferRow(step, task, "join.0>b.1", step, 10, None, matches))
                steps.differing |= {step} if matches is False else set()
            if step and rng.random() < 0.2:
                sink.open_order(step, rng.randrange(step))
                steps.unproven.add(step)
            if chunks and step % max(1, count // chunks) == 0:
                sink._write_chunk()
        return steps


def written(seed: int, folder: Path) -> tuple[Steps, StepReader]:
    """Every second world is finished, the others are still being written."""
    sink = ParquetStepSink(folder)
    steps = Steps.drawn(seed, sink, chunks=seed % 4)
    if seed % 2:
        sink.finish()
    else:
        sink._write_chunk()
        if not (folder / "manifest.json").exists():
            sink.finish()
    return steps, StepReader(folder)


# -- searches: (text, what it finds)

SIGNS = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
NUMBERS = {
    "step": (0, 5, 29, 79), "epoch": (0, 1, 4), "record": (0, 2, 3), "offset": (0, 7), "buffer": (0, 1),
    "bytes": (10, 2048), "value": (0, 3),
}  # fmt: skip
NAMES = {
    "task": TASKS, "thread": ("main", "out-0"), "kind": KINDS, "state": STATES, "log": ("main",),
    "channel": CHANNELS[:2], "text": TEXTS, "determinant": DETERMINANTS, "name": ("idle",),
}  # fmt: skip
SHARED = {
    "task": ("task",), "thread": ("task", "thread"), "state": ("task", "state"), "epoch": ("task", "epoch"),
    "record": ("task", "epoch", "record"), "channel": ("channel",), "buffer": ("channel", "buffer"),
}  # fmt: skip


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def where(meets: Callable[[Facts], bool]) -> Hits:
    return lambda steps: {row["step"] for row in steps.rows if meets(row)}


def compared(name: str, sign: str, value: Any) -> Callable[[Facts], bool]:
    return lambda row: row[name] is not None and SIGNS[sign](row[name], value)


@st.composite
def comparisons(draw: st.DrawFn, names: dict[str, Any] = NAMES) -> tuple[str, Callable[[Facts], bool]]:
    if draw(st.booleans()):
        name = draw(st.sampled_from(sorted(NUMBERS)))
        value, sign = draw(st.sampled_from(NUMBERS[name])), draw(st.sampled_from(sorted(SIGNS)))
        said = "2 KiB" if (name, value) == ("bytes", 2048) and draw(st.booleans()) else str(value)
        return f"{name} {sign} {said}", compared(name, sign, value)
    name = draw(st.sampled_from(sorted(names)))
    value = draw(st.sampled_from(names[name]))
    match draw(st.sampled_from(("=", "!=", "<", "contains", "starts with", "in", "not in", "missing", "not missing"))):
        case "missing":
            return f"{name} is missing", lambda row: row[name] is None
        case "not missing":
            return f"{name} is not missing", lambda row: row[name] is not None
        case "contains":
            part = value[1:3]
            return f"{name} contains {quoted(part)}", lambda row: row[name] is not None and part in row[name]
        case "starts with":
            part = value[:3]
            return f"{name} starts with {quoted(part)}", lambda row: (row[name] or "\0").startswith(part)
        case ("in" | "not in") as how:
            other = draw(st.sampled_from(names[name]))
            listed = f"{name} {how} ({quoted(value)}, {quoted(other)})"
            return listed, lambda row: (row[name] in (value, other)) == (how == "in")
        case sign:
            return f"{name} {sign} {quoted(value)}", compared(name, sign, value)


def member(text: str | None, path: tuple[str | int, ...]) -> str | None:
    """As JSON; None where there is none."""
    value = None if text is None else json.loads(text)
    for part in path:
        kind = list if isinstance(part, int) else dict
        if not isinstance(value, kind) or (part >= len(value) if isinstance(part, int) else part not in value):
            return None
        value = value[part]
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def number_in(text: str | None) -> float | None:
    value = None if text is None else json.loads(text)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and value == value  # NaN is none
    return float(value) if is_number else None


@st.composite
def change_conditions(draw: st.DrawFn) -> tuple[str, Callable[[Facts], bool]]:
    name = draw(st.sampled_from(("key", "before", "after")))
    if name != "key" and draw(st.booleans()):
        said = draw(st.sampled_from(sorted(MEMBERS)))
        path, sign = MEMBERS[said], draw(st.sampled_from(sorted(SIGNS)))
        match draw(st.sampled_from(("number", "text", "missing", "in"))):
            case "number":
                return (
                    f"{name}.{said} {sign} 0",
                    lambda one: (found := number_in(member(one[name], path))) is not None and SIGNS[sign](found, 0),
                )
            case "text":
                return f"{name}.{said} = {quoted(quoted('é'))}", lambda one: member(one[name], path) == '"é"'
            case "in":
                listed = f"{name}.{said} in ({quoted('3')}, {quoted('1')})"
                return listed, lambda one: member(one[name], path) in ("3", "1")
            case _:
                return f"{name}.{said} is missing", lambda one: member(one[name], path) is None
    match draw(st.sampled_from(("text", "contains", "missing", "number"))):
        case "number" if name != "key":
            value, sign = draw(st.sampled_from((3, -4.5, 0))), draw(st.sampled_from(sorted(SIGNS)))
            return (
                f"{name} {sign} {value}",
                lambda one: (found := number_in(one[name])) is not None and SIGNS[sign](found, value),
            )
        case "missing":
            return f"{name} is missing", lambda one: one[name] is None
        case "contains":
            return f"{name} contains '[1'", lambda one: one[name] is not None and "[1" in one[name]
        case _:
            value = draw(st.sampled_from(KEYS if name == "key" else VALUES[1:]))
            return f"{name} = {quoted(value)}", lambda one: one[name] == value


def joined(
    parts: st.SearchStrategy[tuple[str, Callable[[Facts], bool]]],
) -> st.SearchStrategy[tuple[str, Callable[[Facts], bool]]]:
    """One or two of them, with and, or, not."""

    @st.composite
    def draw_joined(draw: st.DrawFn) -> tuple[str, Callable[[Facts], bool]]:
        (one, meets_one), (two, meets_two) = draw(parts), draw(parts)
        match draw(st.sampled_from(("one", "and", "or", "not"))):
            case "and":
                return f"{one} and {two}", lambda row: meets_one(row) and meets_two(row)
            case "or":
                return f"{one} or {two}", lambda row: meets_one(row) or meets_two(row)
            case "not":
                return f"not {one} and {two}", lambda row: not meets_one(row) and meets_two(row)
            case _:
                return one, meets_one

    return draw_joined()


def entering(state: str) -> Hits:
    def hits(steps: Steps) -> set[int]:
        found = set()
        for task in TASKS:
            seen, was = False, state
            for row in (row for row in steps.rows if row["task"] == task):
                walks = row["kind"] == "transition"
                if row["state"] == state and (not seen or (walks and was != state)):
                    found.add(row["step"])
                seen, was = seen or row["state"] == state, row["state"] if walks else was
        return found

    return hits


def changing(meets: Callable[[Facts], bool]) -> Hits:
    return lambda steps: {change["step"] for change in steps.changes if meets(change)}


@st.composite
def leaves(draw: st.DrawFn) -> tuple[str, Hits]:
    match draw(st.sampled_from(("comparison", "comparison", "comparison", "short", "enters", "change"))):
        case "short":
            return draw(st.sampled_from((
                ("anything", where(lambda row: True)),
                ("held-back", where(lambda row: row["kind"] == "hold-back")),
                ("sent", where(lambda row: row["kind"] == "send-buffer")),
                ("divergence", where(lambda row: row["kind"] == "diverge")),
                ("differs", lambda steps: set(steps.differing)),
                ("open-order", lambda steps: set(steps.unproven)),
                ("time >= 1.5 s", where(lambda row: row["time"] >= 1_500_000)),
                ("value is missing", where(lambda row: row["value"] is None)),
                ("name is missing", where(lambda row: row["name"] is None)),
                ("time<2500ms", where(lambda row: row["time"] < 2_500_000)),
            )))  # fmt: skip
        case "enters":
            state = draw(st.sampled_from(STATES))
            return f"enters {state}", entering(state)
        case "change":
            text, meets = draw(joined(change_conditions()))
            return f"change({text})", changing(meets)
        case _:
            text, meets_row = draw(comparisons())
            return text, where(meets_row)


def related(one: Hits, other: Hits, before: bool, negated: bool, scopes: list[str], within: int | None) -> Hits:
    columns = {column for scope in scopes for column in SHARED[scope]}

    def stand_together(steps: Steps, a: int, b: int) -> bool:
        shared = all(steps.rows[a][c] is not None and steps.rows[a][c] == steps.rows[b][c] for c in columns)
        apart = a - b if before else b - a
        return shared and apart > 0 and (within is None or apart <= within)

    def hits(steps: Steps) -> set[int]:
        others = other(steps)
        return {a for a in one(steps) if any(stand_together(steps, a, b) for b in others) != negated}

    return hits


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> tuple[str, Hits]:
    if depth == 0:
        return draw(leaves())
    one, hits_one = draw(conditions(depth=depth - 1))
    match draw(st.sampled_from(("leaf", "and", "or", "not", "related"))):
        case "leaf":
            return f"({one})", hits_one
        case "not":
            return f"not ({one})", lambda steps: {row["step"] for row in steps.rows} - hits_one(steps)
        case ("and" | "or") as how:
            two, hits_two = draw(conditions(depth=depth - 1))
            joint = set.intersection if how == "and" else set.union
            return f"({one}) {how} ({two})", lambda steps: joint(hits_one(steps), hits_two(steps))
        case _:
            two, hits_two = draw(conditions(depth=depth - 1))
            before, negated = draw(st.booleans()), draw(st.booleans())
            scopes = draw(st.lists(st.sampled_from(sorted(SHARED)), max_size=2))
            within = draw(st.none() | st.integers(1, 12))
            text = f"({one}) {'not ' if negated else ''}{'preceded' if before else 'followed'} by ({two})"
            text += f" in the same {', '.join(scopes)}" if scopes else ""
            text += f" within {within} steps" if within else ""
            return text, related(hits_one, hits_two, before, negated, scopes, within)


@st.composite
def searches(draw: st.DrawFn) -> tuple[str, Callable[[Steps], list[int]]]:
    """A search, and its hits in order, counted as it says."""
    text, hits = draw(conditions())
    first, every = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    counted: tuple[str, slice] = draw(st.sampled_from((
        ("", slice(None)),
        (f" hit {first}", slice(first - 1, first)),
        (f" from hit {first}", slice(first - 1, None)),
        (f" every {every}", slice(0, None, every)),
        (f" from hit {first} every {every} hits", slice(first - 1, None, every)),
    )))  # fmt: skip
    return text + counted[0], lambda steps: sorted(hits(steps))[counted[1]]
