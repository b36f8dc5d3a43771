"""Jobs of other engines, recorded by the library: what their pages show, and what they do not claim."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

import clonoscope
from tests.browser.conftest import NARROW, WIDE, Visitor
from tests.browser.inspection import faults_of
from tests.browser.site import Site
from tests.clonoscope.recorded import recording

pytestmark = pytest.mark.browser

Visit = Callable[..., Visitor]
LONG = "orders-enrich-with-customer-address-and-region"
# Pairs of texts of the graph that lie upon one another.
CROWDED = """() => {
  const texts = [...document.querySelectorAll(".graph-svg text")].filter((one) => one.textContent);
  const boxes = texts.map((one) => one.getBoundingClientRect());
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom;
  return texts.flatMap((one, n) => texts.slice(n + 1).filter((_, m) => meet(boxes[n], boxes[n + 1 + m]))
    .map((other) => `${one.textContent} / ${other.textContent}`));
}"""


@pytest.fixture(scope="module")
def named_at_length(site: Site, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A job of seven vertices that nothing joins, with names of every length."""
    folder = tmp_path_factory.mktemp("long")
    with recording(folder, name="long-names") as made:
        for vertex in ("price", "orders-write", LONG, "W" * 40, "by_row", "by_column", "by_frames"):
            for subtask in range(2):
                with made.task(vertex, subtask).epoch(0) as task:
                    task.take(0, topic="orders", partition=subtask)
                    clonoscope.random()
    return site.job(made.dump(folder / "long-names.zip"))


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_long_names_lie_upon_nothing_and_are_whole_on_hover(
    visit: Visit, named_at_length: str, size: dict[str, int]
) -> None:
    page = visit(viewport=size).open(f"/jobs/{named_at_length}/")
    expect(page.locator(".graph-svg .task")).to_have_count(14)
    assert page.evaluate(CROWDED) == []
    names, cards = _right_ends(page, ".id"), _right_ends(page, ".card")
    assert max(names) < max(cards), "a name ends outside of every card"
    expect(page.locator(f'.graph-svg a.task[aria-label^="{LONG}.1 "]')).to_contain_text("region.1")
    assert faults_of(page) == []


def _right_ends(page: Page, what: str) -> list[float]:
    script = "(all) => all.map((one) => one.getBoundingClientRect().right)"
    return list(page.locator(f".graph-svg {what}").evaluate_all(script))
