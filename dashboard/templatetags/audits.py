"""Tags and filters of an audit's page: verdicts, what claims are about, and evidence as links."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard import measures
from dashboard.evidence import address_of
from dashboard.templatetags.pages import icon
from replay.guarantees.reporting import words
from replay.guarantees.reporting.evidence import in_words
from replay.guarantees.reporting.heat import Stretch, Strip, strips
from replay.guarantees.reporting.tables import Table, tables

register = template.Library()
MOST_ROWS = 100
_LOOKS = {words.GOOD: ("good", "check"), words.BAD: ("bad", "cross"), words.OPEN: ("warn", "question")}

register.filter("about_words", words.about)
register.filter("shown", words.shown)
register.filter("label", words.label)
register.filter("question", words.question)


@register.filter
def told_numbers(section: dict[str, Any]) -> list[tuple[str, str]]:
    return list(words.numbers(section))


@register.filter
def cell(value: Any, column: str) -> str:
    """A value of a table: times since the job's start in seconds, sizes and counts with separators."""
    if value is None:
        return ""
    if column.endswith("_us") and isinstance(value, int):
        return measures.moment(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return measures.count(value)
    return words.shown(value)


@register.filter
def section_words(name: str) -> str:
    return words.label({"name": name})


@register.filter
def strips_of(section: dict[str, Any]) -> list[Strip]:
    return strips(section)


@register.filter
def tables_of(section: dict[str, Any]) -> list[Table]:
    return list(tables(section, MOST_ROWS))


@register.simple_tag
def heat_strip(strip: Strip) -> SafeString:
    """A rect for each stretch, with its number where there is room; a reader hears them all."""
    marks = format_html_join(
        "",
        '<rect class="heat-{0}" x="{1}%" width="{2}%" height="100%"><title>{3}</title></rect>{4}',
        ((one.level, f"{one.left:.2f}", f"{one.width:.2f}", one.words, _heat_label(one)) for one in strip.stretches),
    )
    said = "; ".join(one.words for one in strip.stretches)
    return format_html('<svg class="heat" role="img" aria-label="{}: {}">{}</svg>', strip.label, said, marks)


def _heat_label(one: Stretch) -> SafeString:
    if not one.label:
        return SafeString("")
    return format_html('<text x="{}%" y="68%">{}</text>', f"{one.middle:.2f}", one.label)


@register.simple_tag
def verdict_badge(verdict: str, good: bool | None = None) -> SafeString:
    """By sign and word as well as by colour. What is neither good nor bad has no sign."""
    standing = words.standing(verdict, good)
    if standing == words.PLAIN:
        return format_html('<span class="badge">{}</span>', verdict)
    look, sign = _LOOKS[standing]
    return format_html('<span class="badge {}">{}{}</span>', look, icon(sign), verdict)


@register.simple_tag
def proof(job_id: str, name: str) -> SafeString:
    """A link to where it can be looked at, or plain words where no page shows it."""
    address, said = address_of(job_id, name), in_words(name)
    if address is None:
        return format_html("<span>{}</span>", said)
    return format_html('<a href="{}">{}</a>', address, said)
