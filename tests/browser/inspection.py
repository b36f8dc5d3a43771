"""What a page must keep whatever it shows: nothing sticks out, everything has a name, text can be read."""

from __future__ import annotations

from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

# A colour on its way to another is nobody's choice; what moves for ever (a spinner) is not waited for.
AT_REST = """() => document.getAnimations().every((one) =>
  one.playState !== "running" || one.effect.getComputedTiming().endTime === Infinity)"""
LOOK = (Path(__file__).parent / "inspection.js").read_text().strip().rstrip(";")
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
# Each violation with the elements that show it.
RUN_AXE = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations.flatMap((one) =>
  one.nodes.map((node) => `${one.id}: ${one.help}: ${node.target}: ${node.html.slice(0, 120)}`))"""


def faults_of(page: Page) -> list[str]:
    """Everything that is wrong with the page as it stands; empty is good."""
    page.wait_for_function(AT_REST)
    each = "Object.keys(look).map((what) => [what, look[what]()])"
    found = page.evaluate(f"() => {{ const look = {LOOK}; return {each}; }}")
    return [f"{what}: {one}" for what, wrong in found for one in wrong]


def violations_of(page: Page) -> list[str]:
    """What axe finds, by all its rules."""
    page.wait_for_function(AT_REST)
    # Evaluated and not added as an element: the page's policy allows no script that is not its own.
    page.evaluate(f"() => {{ {AXE} }}")
    return [f"axe: {one}" for one in page.evaluate(RUN_AXE)]
