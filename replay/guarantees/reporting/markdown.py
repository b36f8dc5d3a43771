"""A report as Markdown: a post-mortem to be written on. Nothing that a recording says is markup in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from replay.guarantees.reporting.evidence import in_words
from replay.guarantees.reporting.words import (
    BAD,
    Link,
    Told,
    about,
    facts,
    label,
    left_out,
    no_link,
    numbers,
    question,
    shown,
    standing,
)

MOST_CLAIMS = 25
"""Of a section, what is bad first: the JSON has all."""
_MARKUP = re.compile(r"[\\`*_\[\]<>#|~&$@]|:(?=//)|(?<=www)\.|^[-+=]", re.IGNORECASE)
_NUMBERED = re.compile(r"^(\d+)(?=[.)])")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}


def markdown(report: Told, link: Link = no_link) -> str:
    """The verdict, the facts, section by section the claims, and what could not be decided."""
    return "\n".join(_lines(report, link)) + "\n"


def _lines(report: Told, link: Link) -> Iterator[str]:
    yield f"# Audit of {_text(report['recording']['job'])}"
    yield ""
    yield f"**{_text(report['sentence'])}**"
    yield ""
    yield from _table(("", ""), ((name, _text(value)) for name, value in facts(report)))
    for section in report["sections"]:
        yield from _section(section, link)
    yield ""
    yield "## What could not be decided"
    yield ""
    if not report["undecided"]:
        yield "Nothing: whatever was asked could be decided."
    for one in report["undecided"]:
        yield f"- **{_text(one['section'])}**, {_text(about(one['about']))}: {_text(one['sentence'])} {_wanted(one)}"
    for section in report["sections"]:
        if section["lacks_left_out"]:
            yield f"- **{_text(section['name'])}**: {left_out(section['lacks_left_out'], 'gaps')}"


def _section(section: Told, link: Link) -> Iterator[str]:
    yield ""
    yield f"## {_text(label(section))}: {_text(section['verdict'])}"
    yield ""
    if asks := question(section):
        yield from (f"*{_text(asks)}*", "")
    yield _text(section["sentence"])
    counted = ", ".join(f"{_text(name)} {_text(value)}" for name, value in numbers(section))
    if counted:
        yield from ("", counted)
    first = sorted(section["claims"], key=lambda one: standing(one["verdict"]) != BAD)[:MOST_CLAIMS]
    if first:
        yield ""
        rows = (
            (_text(about(one["about"])), _text(one["verdict"]), _text(one["sentence"]), _evidence(one, link))
            for one in first
        )
        yield from _table(("About", "Verdict", "What is so", "Proven by"), rows)
    if more := section["claims_left_out"] + len(section["claims"]) - len(first):
        yield from ("", left_out(more, "claims"))


def _evidence(claim: Told, link: Link) -> str:
    """Links, or plain words where no page shows it."""
    shown = []
    for name in claim["evidence"]:
        address, words = link(name), _text(in_words(name))
        shown.append(f"[{words}](<{_address(address)}>)" if address else words)
    return "; ".join(shown)


def _wanted(lack: Told) -> str:
    return f"It would be decided by: {_text(lack['wants'])}."


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _text(words: str) -> str:
    """One line, in which nothing is a mark, neither Markdown's nor HTML's, no link and nobody's name."""
    escaped = _MARKUP.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), shown(words))
    return _NUMBERED.sub(r"\1\\", escaped)


def _address(address: str) -> str:
    return address.replace("<", "%3C").replace(">", "%3E").replace("\n", "%0A").replace("|", "%7C")
