"""A fork's change in words, for lists and titles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

SHOWN = 60
TITLES = {
    "order": "Another order",
    "value": "Another value",
    "lost": "Lost",
    "holder": "A holder lost",
    "depth": "Another sharing depth",
    "failure": "A second failure",
    "operator": "Another operator",
}
_SAYS = {"value": "value", "holder": "holder", "depth": "depth", "failure": "task", "operator": "operator"}


def in_words(change: Mapping[str, Any]) -> str:
    """`A second failure: source.0`."""
    name = str(change.get("change", ""))
    title, field = TITLES.get(name, name), _SAYS.get(name)
    if field is None or field not in change:
        return title
    said = change[field] if isinstance(change[field], str) else json.dumps(change[field], ensure_ascii=False)
    return f"{title}: {said if len(said) <= SHOWN else f'{said[:SHOWN]}…'}"
