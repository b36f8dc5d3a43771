"""A report as one page of HTML that stands alone: no script, nothing loaded, light and dark. All words are escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from replay.guarantees.reporting.evidence import in_words
from replay.guarantees.reporting.heat import strips
from replay.guarantees.reporting.tables import tables
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

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
MOST_AT_ONCE = 10
"""More claims than this stand folded, unless something is wrong with them."""
MOST_ROWS = 50
"""Of each table of numbers; the JSON has all."""
_SIGNS = {"good": "✔ ", "bad": "✕ ", "open": "? ", "plain": ""}
_STYLE = """
:root { color-scheme: light dark; --ground: #f5f7fa; --panel: #fff; --line: #d5dce6; --ink: #0f1722; --soft: #45536a;
  --good: #0a7a4b; --good-soft: #e0f3e9; --bad: #c02b26; --bad-soft: #fdebea; --open: #94590a; --open-soft: #fcf1dc;
  --link: #1a53c6; }
@media (prefers-color-scheme: dark) { :root { --ground: #0d1117; --panel: #151b24; --line: #2f3b4d; --ink: #e8edf4;
  --soft: #aab6c7; --good: #56c990; --good-soft: #14301f; --bad: #ff8a80; --bad-soft: #3a1a1c; --open: #f0b252;
  --open-soft: #35260e; --link: #8fb8ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 3rem; background: var(--ground); color: var(--ink);
  font: 15px/1.5 Inter, system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1rem; color: var(--soft); margin: 0 0 .5rem; }
h2 { font-size: 1.05rem; margin: 0; display: inline; }
.lead { font-size: 1.45rem; line-height: 1.35; margin: 0 0 1rem; }
.panel { background: var(--panel); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem;
  margin: 0 0 1rem; }
.badge { border-radius: 1rem; padding: .1rem .65rem; font-size: .85rem; font-weight: 600; white-space: nowrap; }
.good { color: var(--good); background: var(--good-soft); }
.bad { color: var(--bad); background: var(--bad-soft); }
.plain { color: var(--soft); border: 1px solid var(--line); }
.open { color: var(--open); background: var(--open-soft); }
.soft { color: var(--soft); }
a { color: var(--link); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; margin-top: .75rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-top: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 500; border-top: 0; }
td, th { min-width: 7rem; }
summary { cursor: pointer; }
summary:focus-visible, a:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.heat { display: block; width: 100%; height: 1.5rem; margin: .25rem 0 .75rem; border-radius: .25rem; }
.heat text { font-size: .75rem; text-anchor: middle; fill: var(--ink); }
.heat rect { stroke: var(--panel); }
rect.heat-any { fill: var(--good-soft); }
rect.heat-0 { fill: color-mix(in srgb, var(--bad) 55%, var(--panel)); }
rect.heat-1 { fill: color-mix(in srgb, var(--bad) 40%, var(--panel)); }
rect.heat-2 { fill: color-mix(in srgb, var(--bad) 28%, var(--panel)); }
rect.heat-3 { fill: color-mix(in srgb, var(--bad) 18%, var(--panel)); }
rect.heat-4 { fill: color-mix(in srgb, var(--bad) 10%, var(--panel)); }
@media print { body { background: none; } .panel { break-inside: avoid; } }
"""


def html(report: Told, link: Link = no_link) -> str:
    """The verdict, the facts, section by section the claims, and what could not be decided."""
    return "\n".join(_lines(report, link)) + "\n"


def _lines(report: Told, link: Link) -> Iterator[str]:
    title = f"Audit of {report['recording']['job']}"
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><meta name="referrer" content="no-referrer">'
    yield f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body><main>"
    yield f"<h1>{_text(title)} {_badge(report['verdict'])}</h1>"
    yield f'<p class="lead">{_text(report["sentence"])}</p>'
    named = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in facts(report))
    yield f'<section class="panel"><dl>{named}</dl></section>'
    for section in report["sections"]:
        yield from _section(section, link)
    yield from _undecided(report)
    yield "</main></body></html>"


def _section(section: Told, link: Link) -> Iterator[str]:
    badge = _badge(section["verdict"], good=section["good"])
    yield f'<section class="panel"><details open><summary><h2>{_text(label(section))}</h2> {badge}</summary>'
    if asks := question(section):
        yield f'<p class="soft">{_text(asks)}</p>'
    yield f"<p>{_text(section['sentence'])}</p>"
    counted = ", ".join(f"{_text(name)} {_text(value)}" for name, value in numbers(section))
    if counted:
        yield f'<p class="soft">{counted}</p>'
    if section["claims"]:
        at_once = " open" if _is_short(section) else ""
        yield f"<details{at_once}><summary>{len(section['claims']):,} claims, with what proves them</summary>"
        yield '<div class="wide"><table><thead><tr><th scope="col">About</th><th scope="col">Verdict</th>'
        yield '<th scope="col">What is so</th><th scope="col">Proven by</th></tr></thead><tbody>'
        for claim in section["claims"]:
            yield f'<tr><th scope="row">{_text(about(claim["about"]))}</th><td>{_badge(claim["verdict"])}</td>'
            yield f"<td>{_text(claim['sentence'])}</td><td>{_evidence(claim, link)}</td></tr>"
        yield "</tbody></table></div></details>"
    yield from _strips(section)
    yield from _tables(section)
    if section["claims_left_out"]:
        yield f'<p class="soft">{left_out(section["claims_left_out"], "claims")}</p>'
    yield "</details></section>"


def _is_short(section: Told) -> bool:
    return len(section["claims"]) <= MOST_AT_ONCE or standing(section["verdict"], section["good"]) == BAD


def _strips(section: Told) -> Iterator[str]:
    """How small a set of failures would have orphaned somebody, over the time of the job."""
    for strip in strips(section):
        said = "; ".join(one.words for one in strip.stretches)
        yield f'<p class="soft">{_text(strip.label)}</p>'
        yield f'<svg class="heat" role="img" aria-label="{_text(said)}">'
        for one in strip.stretches:
            yield f'<rect class="heat-{one.level}" x="{one.left:.2f}%" width="{one.width:.2f}%" height="100%">'
            yield f"<title>{_text(one.words)}</title></rect>"
            if one.label:
                yield f'<text x="{one.middle:.2f}%" y="70%">{one.label}</text>'
        yield "</svg>"


def _tables(section: Told) -> Iterator[str]:
    found = list(tables(section, MOST_ROWS))
    if not found:
        return
    yield "<details><summary>Numbers</summary>"
    for table in found:
        yield f'<p class="soft">{_text(table.title)}</p><div class="wide"><table><thead><tr>'
        yield "".join(f'<th scope="col">{_text(column)}</th>' for column in table.columns) + "</tr></thead><tbody>"
        for row in table.rows:
            yield "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>"
        yield "</tbody></table></div>"
        if table.more:
            yield f'<p class="soft">{left_out(table.more, "rows")}</p>'
    yield "</details>"


def _undecided(report: Told) -> Iterator[str]:
    yield '<section class="panel"><details open><summary><h2>What could not be decided</h2></summary>'
    if not report["undecided"]:
        yield "<p>Nothing: whatever was asked could be decided.</p>"
    else:
        yield '<div class="wide"><table><thead><tr><th scope="col">Of</th><th scope="col">What</th>'
        yield '<th scope="col">What would decide it</th></tr></thead><tbody>'
        for one in report["undecided"]:
            where = f"{_text(one['section'])}, {_text(about(one['about']))}"
            yield f'<tr><th scope="row">{where}</th><td>{_text(one["sentence"])}</td>'
            yield f"<td>{_text(one['wants'])}</td></tr>"
        yield "</tbody></table></div>"
    for section in report["sections"]:
        if section["lacks_left_out"]:
            yield f'<p class="soft">{_text(section["name"])}: {left_out(section["lacks_left_out"], "gaps")}</p>'
    yield "</details></section>"


def _badge(verdict: str, *, good: bool | None = None) -> str:
    if not verdict:
        return ""
    found = standing(verdict, good)
    return f'<span class="badge {found}">{_SIGNS[found]}{_text(verdict)}</span>'


def _evidence(claim: Told, link: Link) -> str:
    """Links, or plain words where no page shows it."""
    shown = []
    for name in claim["evidence"]:
        address, words = link(name), _text(in_words(name))
        shown.append(f'<a href="{escape(address)}">{words}</a>' if address else words)
    return "; ".join(shown)


def _text(words: object) -> str:
    return escape(shown(words))
