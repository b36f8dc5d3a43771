"""docs/faults.md lists why an option of `record` may change nothing, and which ones: as the code does."""

import ast
import re

from replay.jobs.option_fields import flag_of
from replay.jobs.options import RecordOptions
from tests.docs.faults import _shape
from tests.docs.pages import ROOT, sections

SECTION = "Options of record that would change nothing"
SHAPING = ("watermark_ms", "watermark_records", "clock_period_ms", "random", "state_access")


def in_the_code() -> set[tuple[str, tuple[str, ...]]]:
    tree = ast.parse((ROOT / "replay/jobs/idle_options.py").read_text("utf-8"))
    texts = {
        one.targets[0].id: one.value
        for one in ast.walk(tree)
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and one.targets[0].id == "why"
    }
    found = set()
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "Idle":
            why, options = call.args
            said = _shape(texts[why.id] if isinstance(why, ast.Name) else why)
            names = SHAPING if ast.unparse(options) == "(name,)" else ast.literal_eval(options)
            found.add((said, tuple(sorted(flag(name) for name in names))))
    return found


def flag(name: str) -> str:
    field, _, value = name.partition("=")
    return " ".join(filter(None, (flag_of(RecordOptions.__dataclass_fields__[field]), value)))


def on_the_page() -> set[tuple[str, tuple[str, ...]]]:
    rows = re.findall(r"^\| (?!why |---)(.+?) \| (.+?) \|$", sections("faults.md")[SECTION], re.MULTILINE)
    return {(why, tuple(sorted(re.findall("`(.+?)`", options)))) for why, options in rows}


def test_the_page_lists_what_would_change_nothing_and_why() -> None:
    assert on_the_page() == in_the_code() and len(in_the_code()) > 15
