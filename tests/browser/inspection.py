"""What a page must keep whatever it shows: nothing sticks out, everything has a name, text can be read."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

# A colour on its way to another is nobody's choice; what moves for ever (a spinner) is not waited for.
AT_REST = """() => document.getAnimations().every((one) =>
  one.playState !== "running" || one.effect.getComputedTiming().endTime === Infinity)"""
LOOK = (Path(__file__).parent / "inspection.js").read_text().strip().rstrip(";")


def faults_of(page: Page) -> list[str]:
    """Everything that is wrong with the page as it stands; empty is good."""
    page.wait_for_function(AT_REST)
    each = "Object.keys(look).map((what) => [what, look[what]()])"
    found = page.evaluate(f"() => {{ const look = {LOOK}; return {each}; }}")
    return [f"{what}: {one}" for what, wrong in found for one in wrong]
