"""Jobs of other engines, recorded by the library: what their pages show, and what they do not claim."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

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


@pytest.fixture(scope="module")
def with_gaps(site: Site, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two epochs, a gap in the second."""
    folder = tmp_path_factory.mktemp("gaps")
    with recording(folder, name="gaps") as made:
        task = made.task("orders")
        for epoch in range(2):
            with task.epoch(epoch):
                task.take(epoch, topic="orders")
                clonoscope.time_ns()
                if epoch:
                    task.log.gap("the disk was full")
                    clonoscope.random()
    return site.job(made.dump(folder / "gaps.zip"))


def test_a_gap_stands_in_the_timeline_and_leads_to_where_it_was(visit: Visit, with_gaps: str) -> None:
    page = visit().open(f"/jobs/{with_gaps}/")
    mark = page.locator(".timeline-svg a.gap")
    expect(mark).to_have_attribute("aria-label", re.compile("1 gap in the log of orders.0, attempt 0, epoch 1"))
    expect(page.locator("#timeline-legend")).to_contain_text("gap in a log")
    assert faults_of(page) == []
    mark.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/jobs/{with_gaps}/logs/?**epoch=1")
    expect(page.locator("#rows tr.gap")).to_contain_text("the disk was full")
    # What asked is named beside what it was given.
    expect(page.locator("#rows .beside code").first).to_have_text("clonoscope.time_ns()")
    assert faults_of(page) == []


def test_an_empty_file_and_one_that_is_encrypted_are_refused_in_a_sentence(visit: Visit, tmp_path: Path) -> None:
    visitor = visit()
    visitor.expects("status of 422")
    page = visitor.open("/")
    (tmp_path / "empty.zip").touch()
    (tmp_path / "orders.zip.age").write_bytes(b"age-encryption.org/v1\n-> X25519 key\n--- mac\n" + bytes(100))
    page.locator("#bundles").set_input_files([tmp_path / "empty.zip", tmp_path / "orders.zip.age"])
    expect(page.locator(".upload.refused", has_text="empty.zip")).to_contain_text("The file is empty")
    expect(page.locator(".upload.refused", has_text="orders.zip.age")).to_contain_text("clonoscope decrypt")


def _right_ends(page: Page, what: str) -> list[float]:
    script = "(all) => all.map((one) => one.getBoundingClientRect().right)"
    return list(page.locator(f".graph-svg {what}").evaluate_all(script))


def test_where_nothing_was_sent_time_can_be_walked_all_the_same(visit: Visit, named_at_length: str) -> None:
    page = visit().open(f"/jobs/{named_at_length}/spacetime/")
    expect(page.locator("#scrub svg")).to_be_attached()
    expect(page.get_by_text("The engine of this job was only observed")).to_be_visible()
    expect(page.locator(".spacetime-legend")).to_have_count(0)
    page.keyboard.press("w")
    expect(page.locator("#window-text")).not_to_contain_text("the whole job")
    page.keyboard.press("0")
    expect(page.locator("#window-text")).to_contain_text("the whole job")
