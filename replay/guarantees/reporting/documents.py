"""The forms that a report can take, by name."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from replay.guarantees.reporting.html import html
from replay.guarantees.reporting.junit import junit
from replay.guarantees.reporting.markdown import markdown
from replay.guarantees.reporting.words import Link, Told, no_link


@dataclass(frozen=True, slots=True)
class Form:
    """How a report is written, what that is, and how files of it end."""

    content_type: str
    suffix: str
    write: Callable[[Told, Link], str]


def _json(report: Told, link: Link) -> str:
    return json.dumps(report, ensure_ascii=False, indent=2) + "\n"


FORMS: dict[str, Form] = {
    "html": Form("text/html; charset=utf-8", ".html", html),
    "markdown": Form("text/markdown; charset=utf-8", ".md", markdown),
    "junit": Form("application/xml; charset=utf-8", ".xml", lambda report, link: junit(report)),
    "json": Form("application/json; charset=utf-8", ".json", _json),
}


def document(report: Told, form: str, link: Link = no_link) -> bytes:
    """In UTF-8; what is none, as names in a recording may be, is escaped."""
    return FORMS[form].write(report, link).encode("utf-8", "backslashreplace")


def write(path: Path, report: Told, form: str) -> None:
    """Wholly, or not at all."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(document(report, form))
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
