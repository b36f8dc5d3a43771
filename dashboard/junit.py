"""Verdicts as JUnit XML, which build servers read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

GOOD_VERDICTS = ("identical", "free", "forked")
_LABELS = {
    "member": "Member",
    "offset": "At byte",
    "buffer": "Buffer",
    "byte": "Byte of the buffer",
    "thread": "Thread",
    "epoch": "Epoch",
    "determinant": "Determinant",
    "record_count": "At record",
    "asked_record": "The replay makes",
    "logged_record": "The recording holds",
    "asked": "Asked",
    "logged": "Logged",
}


def is_good(replay: Mapping[str, Any]) -> bool:
    """Whether nobody need look at it: the verdict, and what a hunt found."""
    hunt = replay["detail"].get("hunt") or {}
    found = hunt.get("readings") or (hunt.get("perturbed") or {}).get("moved")
    return replay["verdict"] in GOOD_VERDICTS and not found


def write(path: Path, outcomes: Mapping[str, list[dict[str, Any]]], errors: Mapping[str, str]) -> None:
    """One suite per bundle, one case per replay; a bundle that could not be read is an error."""
    root = ElementTree.Element("testsuites", name="clonoscope replay")
    for bundle, replays in outcomes.items():
        suite = ElementTree.SubElement(root, "testsuite", name=_clean(bundle), tests=str(len(replays)))
        for replay in replays:
            _case(suite, _clean(bundle), replay)
    for bundle, error in errors.items():
        suite = ElementTree.SubElement(root, "testsuite", name=_clean(bundle), tests="1", errors="1")
        case = ElementTree.SubElement(suite, "testcase", classname=_clean(bundle), name="read")
        ElementTree.SubElement(case, "error", message=_clean(error))
    part = path.with_name(f".{path.name}.part")
    ElementTree.ElementTree(root).write(part, encoding="utf-8", xml_declaration=True)
    os.replace(part, path)


def _case(suite: ElementTree.Element, bundle: str, replay: dict[str, Any]) -> None:
    of = f"attempt {replay['attempt']}" if replay["failure"] is None else f"failure {replay['failure']}"
    case = ElementTree.SubElement(suite, "testcase", classname=bundle, name=_clean(f"{replay['task']} {of}"))
    if not is_good(replay):
        suite.set("failures", str(int(suite.get("failures", "0")) + 1))
        good = replay["verdict"] in GOOD_VERDICTS
        said = replay["detail"]["hunt"]["sentence"] if good else replay["sentence"]
        kind = "hunt" if good else replay["verdict"]
        failure = ElementTree.SubElement(case, "failure", type=kind, message=_clean(said))
        failure.text = _clean("\n".join(_told(replay)))


def _told(replay: dict[str, Any]) -> Iterator[str]:
    """The divergence as a build's log shows it: a line for each thing that is known of it."""
    detail = replay["detail"]
    yield replay["sentence"]
    for name, label in _LABELS.items():
        if detail.get(name) is not None:
            yield f"{label}: {detail[name]}"
    if line := detail.get("line"):
        yield f"Operator's line: {line['file']}:{line['line']} {line['text']}"
    if agreed := detail.get("last_agreeing"):
        yield f"Agreed last: step {agreed['step']}: {agreed['text']}"
    yield from (f"Led there: step {one['step']}: {one['text']}" for one in detail.get("predecessors", ()))
    if reason := detail.get("reason"):
        yield f"Likely reason: {reason['words']} ({reason['code']})"
        yield from (f"  {one}" for one in reason["evidence"])
    yield from (one["sentence"] for one in detail.get("further", ()))
    if hunt := detail.get("hunt"):
        yield hunt["sentence"]
        for one in hunt["readings"]:
            at = f"{one['file']}:{one['line']} {one['source']}"
            yield f"Reads {one['kind']}: {at} ({one['call']}, {one['count']} times)"
        for one in (hunt["perturbed"] or {}).get("moved", ()):
            yield f"Moves with {one['surroundings']}: {one['file']}:{one['line']} {one['source']}"


def _clean(text: str) -> str:
    """XML has no way to say most control characters."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
