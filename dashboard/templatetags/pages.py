"""Tags and filters of the pages. They write marks without any inline style, as the content security policy demands."""

from __future__ import annotations

import datetime
import json
from itertools import takewhile
from typing import Any

from django import template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard import changes, measures
from dashboard.queries.kinds import Kind, determinant_kind, step_kind
from replay.debugger.searching.tokens import MOST_TEXT, quoted

register = template.Library()
LONG_TEXT = 200
_STATE_WORDS = {
    "Standby": "in standby",
    "WaitingConnections": "connections",
    "WaitingDeterminants": "determinants",
    "Replaying": "replaying",
    "Running": "running",
}

register.filter("change_words", changes.in_words)
register.filter("count", measures.count)
register.filter("bytes", measures.byte_size)
register.filter("duration", measures.duration)
register.filter("moment", measures.moment)


@register.filter
def at_ms(value: int) -> str:
    """A time of the day in UTC, where it can be one."""
    try:
        return datetime.datetime.fromtimestamp(value / 1000, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"{value} ms"


@register.filter
def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@register.filter
def cell(value: Any) -> str:
    """A value of an answer as it is: numbers without separators, so that they can be copied into a question."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@register.filter
def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@register.filter
def source_line(line: str) -> SafeString:
    """`file.py:12 `x = y``: the place, and the text of the line as code, without its marks."""
    place, _, text = line.partition(" `")
    if not text:
        return format_html("{}", place)
    return format_html("{} <code>{}</code>", place, text.removesuffix("`"))


@register.filter
def with_code(sentence: str) -> SafeString:
    """What stands in a sentence between two marks, as code without them."""
    parts = sentence.split("`")
    if len(parts) % 2 == 0:
        return format_html("{}", sentence)
    pairs = zip(parts[::2], [*parts[1::2], ""], strict=True)
    return format_html_join(
        "", "{}{}", ((said, format_html("<code>{}</code>", code) if code else "") for said, code in pairs)
    )


@register.filter
def source_place(line: str) -> str:
    """The place alone, where a panel has no room for the text."""
    return line.partition(" `")[0]


@register.filter
def all_changes(one: Any) -> str:
    """The search for the steps that change a key of the state; empty where no field can hold it."""
    key: str = one["key"] if isinstance(one, dict) else one.key
    search = f"change(key = {quoted(key)})"
    return search if key.isprintable() and len(search) <= MOST_TEXT else ""


@register.filter
def span(one: dict[str, Any]) -> str:
    """A run of an output's buffers, or of a sink's writes."""
    noun = "write" if one["output"] == "outside" else "buffer"
    if one["count"] == 1:
        numbers = f"{noun} {measures.count(one['first'])}"
    else:
        numbers = f"{noun}s {measures.count(one['first'])} to {measures.count(one['last'])}"
    return f"{numbers} to the world outside" if noun == "write" else f"{numbers} of {one['output']}"


@register.filter
def bytes_back(returned: list[list[Any]]) -> str:
    """How much of a task's logs comes back."""
    return measures.byte_size(sum(upto for *_, upto in returned))


@register.simple_tag
def duration_between(start_us: int, end_us: int) -> str:
    return measures.duration(end_us - start_us)


@register.filter
def step_meaning(name: str) -> str:
    return step_kind(name).meaning


@register.filter
def state_words(state: str) -> str:
    """How long a state took is said in the words of what is done in it."""
    return _STATE_WORDS.get(state, state)


@register.filter
def share_of(part: float, whole: float) -> str:
    return measures.share(part, whole)


@register.simple_tag
def icon(name: str) -> SafeString:
    return format_html(
        '<svg aria-hidden="true" focusable="false"><use href="{}#{}"/></svg>', static("img/icons.svg"), name
    )


@register.simple_tag
def kind(name: str) -> SafeString:
    """The letter of a determinant's kind, with its name for those who cannot see it."""
    return _glyph(determinant_kind(name))


@register.simple_tag
def stepkind(name: str) -> SafeString:
    return _glyph(step_kind(name))


@register.simple_tag
def compared(shown: Any, other: Any) -> SafeString:
    """A value beside another: bytes in pairs, those that differ marked; of anything else where the two part."""
    pairs, others = _pairs(shown), _pairs(other)
    if pairs is None or others is None:
        return parted(_as_text(shown), "" if other is None else _as_text(other))
    marked = (
        ("<mark>{}</mark>" if n >= len(others) or pair != others[n] else "{}", pair) for n, pair in enumerate(pairs)
    )
    return SafeString(" ".join(format_html(form, pair) for form, pair in marked))


@register.simple_tag
def parted(shown: Any, other: Any) -> SafeString:
    """A text beside another one: what lies between what both begin and end with is marked."""
    text, beside = str(shown or ""), str(other or "")
    if not beside or text == beside:
        return format_html("{}", text)
    start = _alike(text, beside)
    end = len(text) - _alike(text[start:][::-1], beside[start:][::-1])
    return format_html("{}<mark>{}</mark>{}", text[:start], text[start:end], text[end:])


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _alike(text: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, other, strict=False)))


def _pairs(value: Any) -> list[str] | None:
    """The bytes of a text in hex; None where it is none."""
    if not isinstance(value, str) or not value or len(value) % 2 or not all(c in "0123456789abcdef" for c in value):
        return None
    return [value[n : n + 2] for n in range(0, len(value), 2)]


@register.simple_tag
def long_text(text: str) -> SafeString:
    """What somebody's exception said, whole, and no longer than a few lines until it is asked for."""
    if len(text) <= LONG_TEXT:
        return format_html("{}", text)
    shown = " ".join(text[:LONG_TEXT].split())
    return format_html('<details class="long-text"><summary>{}…</summary><p>{}</p></details>', shown, text)


@register.simple_tag
def bar(part: float, whole: float) -> SafeString:
    percent = 100 * min(max(part / whole, 0), 1) if whole else 0
    return format_html(
        '<svg class="bar" aria-hidden="true" preserveAspectRatio="none"><rect width="{}%" height="100%"/></svg>',
        f"{percent:.2f}",
    )


@register.simple_tag
def stacked_bar(whole: float, *parts: float) -> SafeString:
    """Parts of a whole side by side, each of its own class: `part-0`, `part-1`, …"""
    starts = [sum(parts[:n]) for n in range(len(parts))]
    percents = [(100 * start / whole, 100 * part / whole) for start, part in zip(starts, parts, strict=True) if whole]
    shown = [(n, f"{x:.2f}", f"{width:.2f}") for n, (x, width) in enumerate(percents)]
    rects = format_html_join("", '<rect class="part-{}" x="{}%" width="{}%" height="100%"/>', shown)
    return format_html('<svg class="bar" aria-hidden="true" preserveAspectRatio="none">{}</svg>', rects)


@register.filter
def plural(number: int, words: str) -> str:
    """`{{ 2|plural:"failure failures" }}`: 2 failures. Words of several words stand with a comma between."""
    one, _, many = words.partition(", " if ", " in words else " ")
    return f"{measures.count(number)} {one if number == 1 else many}"


@register.filter
def plural_of(things: Any, words: str) -> str:
    """The same of so many things as there are."""
    return plural(len(things), words)


@register.filter
def percent(value: float) -> str:
    """A share, with a digit where it is small: 0.042 -> 4.2 %."""
    return f"{100 * value:.1f} %" if value < 0.1 else f"{100 * value:.0f} %"


@register.filter
def negated(value: float) -> float:
    return -value


@register.filter
def unlocalized(value: float) -> str:
    """For attributes that scripts read: no separators."""
    return f"{value:.0f}"


@register.filter
def get(mapping: dict[str, Any] | None, key: str) -> Any:
    return (mapping or {}).get(key)


def _glyph(shown: Kind) -> SafeString:
    return format_html(
        '<span class="kind {} {}" title="{}: {}"><span aria-hidden="true">{}</span>'
        '<span class="visually-hidden">{}</span></span>',
        shown.colour,
        shown.shape,
        shown.name,
        shown.meaning,
        shown.letter,
        shown.name,
    )
