"""What a search finds as a list, what can be searched, and how a value in the state came to be."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NARROW, WIDE, Visitor
from tests.browser.inspection import faults_of
from tests.browser.test_replay_page import _at
from tests.browser.test_stops import steps_where

pytestmark = pytest.mark.browser

Visit = Callable[..., Visitor]
INSIDE = """(place) => {
  const last = place.querySelector("tbody").lastElementChild;
  return last.getBoundingClientRect().bottom - place.getBoundingClientRect().bottom;
}"""


def hits(page: Page) -> Locator:
    return page.locator("#hits tbody tr")


def searched(page: Page, text: str) -> None:
    page.keyboard.press("/")
    page.keyboard.type(text)


def test_the_hits_are_listed_around_the_step_and_lead_to_theirs(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=700")
    held = steps_where(page, replay, "hold-back")
    searched(page, "kind = hold-back")
    expect(page.locator("#hits .window")).to_have_attribute("data-total", str(len(held)))
    listed = [int(one.replace(",", "")) for one in page.locator("#hits .seq").all_inner_texts()]
    assert listed == held[held.index(listed[0]) :][: len(listed)] and len(listed) == 7
    assert listed[0] < 700 < listed[-1]
    hits(page).nth(2).get_by_role("link").click()
    _at(page, listed[2])
    expect(page.locator("#hits tr[aria-current] .seq")).to_have_text(f"{listed[2]:,}")
    page.locator("#strip").focus()
    page.keyboard.press("n")
    expect(page.locator("#hits tr[aria-current]")).to_have_count(0)
    page.locator("[data-window=hits]").focus()
    page.keyboard.press("End")
    expect(hits(page).last.locator(".seq")).to_have_text(f"{held[-1]:,}")
    hits(page).last.get_by_role("link").focus()
    page.keyboard.press("Enter")
    _at(page, held[-1])
    page.locator("#find").fill("")
    expect(hits(page)).to_have_count(0)


@pytest.mark.parametrize("name", ["steps", "log", "outputs"])
def test_the_last_row_of_a_list_is_in_sight_at_its_end(visit: Visit, replay: str, name: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=700")
    window = page.locator(f"[data-window={name}]")
    expect(window).to_have_attribute("data-placed", "")
    before = window.locator("tbody tr").last.inner_text()
    window.focus()
    page.keyboard.press("End")
    expect(window.locator("tbody tr").last).not_to_have_text(before)
    assert window.evaluate(INSIDE) < 1


def test_how_a_value_came_to_be_is_a_click_away(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=700")
    row = page.locator(".state-rows tbody tr").first
    key = row.locator("th a").first.inner_text()
    shown = row.locator(".after").inner_text()
    row.get_by_role("link", name=f"All changes of {key}").click()
    expect(page.locator("#find")).to_have_value(f'change(key = "{key}")')
    rows = hits(page).filter(has_text=f"{key}:")
    expect(rows.first).to_be_visible()
    assert rows.count() == hits(page).count()
    assert shown in rows.locator(".after").all_inner_texts()
    befores, afters = rows.locator(".before").all_inner_texts(), rows.locator(".after").all_inner_texts()
    assert befores[1:] == afters[:-1], "each value stays until it is changed"
    page.reload()
    expect(rows.first).to_be_visible()
    expect(page.locator("#state .note")).to_have_text(re.compile(r"^[\d,]+ keys? after it$"))


def test_the_syntax_is_at_hand_and_its_examples_can_be_tried(visit: Visit, replay: str) -> None:
    page = visit().open(f"/replays/{replay}/?step=700")
    page.locator(".search-help summary").focus()
    page.keyboard.press("Enter")
    examples = page.locator(".search-examples a[data-find]")
    assert examples.count() > 12
    for example in examples.all():
        example.click()
        expect(page.locator("#find-said")).to_have_text(re.compile(r"^[\d,]+ hits?(: No step .*)?$"))
        expect(page.locator("#find")).to_have_attribute("aria-invalid", "false")
    page.locator("#find").fill("kind = hold-bak")
    expect(page.locator("#find-said")).to_have_text("0 hits: No step here has kind hold-bak; the nearest is hold-back.")
    expect(hits(page)).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_it_can_be_read_by_everyone(visit: Visit, replay: str, viewport: object, scheme: str) -> None:
    page = visit(viewport=viewport, color_scheme=scheme).open(f"/replays/{replay}/?step=700&find=change")
    expect(hits(page).first).to_be_visible()
    page.locator(".search-help summary").click()
    expect(page.locator("#strip canvas")).to_be_visible()
    assert faults_of(page) == []


def test_it_is_there_without_scripts(visit: Visit, replay: str) -> None:
    page = visit(java_script_enabled=False).open(f"/replays/{replay}/?step=700")
    page.locator(".state-rows .all-changes").first.click()
    expect(page.locator("#hits .hits-said")).to_contain_text("hits")
    to = int(page.locator("#hits .seq").last.inner_text().replace(",", ""))
    hits(page).last.get_by_role("link").click()
    assert f"step={to}" in page.url
    page.locator("#find").fill("kind = hold-back and")
    page.get_by_role("button", name="next", exact=True).click()
    expect(page.locator("#hits .wrong")).to_contain_text("a condition must stand here")
