"""The controls of a replay of a million steps that have no test of their own elsewhere: each by pointer and by keys,
and the Tab key reaches every one of them, visibly."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.site import Site
from tests.browser.test_million_steps import (  # noqa: F401 - fixtures
    asked,
    begun,
    here,
    large,
    large_job,
    last_of,
    page,
    press,
    shows,
)
from tests.browser.test_replay_page import _at

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timed]


def test_the_rest_by_pointer(page: Page) -> None:  # noqa: F811
    page.locator("#step-field").click()
    page.keyboard.type("250,000")
    press(page, "Enter")
    _at(page, 250_000)
    box = page.locator("#strip canvas").bounding_box()
    assert box is not None
    left, wide, y = box["x"] + 64, box["width"] - 70, box["y"] + 30
    page.keyboard.down("Shift")
    page.mouse.move(left + wide * 0.4, y)
    page.mouse.down()
    page.mouse.move(left + wide * 0.6, y)
    page.mouse.up()
    page.keyboard.up("Shift")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Text", exact=True)).to_be_focused()
    page.keyboard.type("from the strip")
    dialog.get_by_role("button", name="Keep the note").click()
    about = page.locator("#notes .note-about a")
    expect(about).to_contain_text(re.compile(r"steps [\d,]+ to [\d,]+"))
    about.click()
    assert here(page) == pytest.approx(0.4 * last_of(page), abs=3_000)
    page.get_by_role("button", name="Note here").click()
    dialog.get_by_role("button", name="Close without saving").click()
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Change the note").click()
    expect(dialog.get_by_label("Text", exact=True)).to_have_value("from the strip")
    dialog.get_by_role("button", name="Close without saving").click()
    page.locator("#to-notes").click()
    expect(page).to_have_url(re.compile("#notes$"))
    page.locator("#to-stops").click()
    expect(page).to_have_url(re.compile("#stops$"))
    page.locator("#find").fill("kind = snapshot")
    page.locator("#keep").click()
    expect(page.locator("#stops [data-breakpoint]")).to_have_count(1)
    page.get_by_role("link", name="Last step").click()
    page.get_by_role("button", name="previous", exact=True).click()
    shows(page, "snapshot")
    page.get_by_role("link", name="First step").click()
    page.get_by_role("link", name="Next hit behind this step").click()
    shows(page, "snapshot")
    page.get_by_role("switch").click()
    expect(page.get_by_role("switch")).not_to_be_checked()
    for inside in ("[data-window=log]", "[data-window=inputs]", ".told", ".state-rows", ".why", "[data-window=steps]"):
        asked(page, "g", "500000")
        _at(page, 500_000)
        link = page.locator(inside).locator('a[data-step]:not([data-step="500000"])').last
        to = int(link.get_attribute("data-step") or -1)
        link.click()
        _at(page, to)
    page.get_by_role("link", name=re.compile("^Show all")).click()
    page.get_by_role("link", name="Fold it again").click()
    expect(page.get_by_role("link", name=re.compile("^Show all"))).to_be_visible()
    page.get_by_role("link", name="Delete", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Delete")
    page.go_back()
    expect(page.locator("#strip canvas")).to_be_visible()


def test_the_rest_by_keys_alone(page: Page, site: Site, large: str) -> None:  # noqa: F811
    def enter(locator: Locator, *keys: str) -> None:
        locator.focus()
        expect(locator).to_be_focused()
        press(page, *(keys or ("Enter",)))

    enter(page.get_by_role("button", name="Zoom into the strip"))
    expect(page.locator("#strip-whole")).to_be_visible()
    enter(page.get_by_role("button", name="Zoom out of the strip"))
    expect(page.locator("#strip-whole")).to_be_hidden()
    for inside in (
        "[data-window=log]",
        "[data-window=inputs]",
        ".told",
        ".state-rows",
        ".why",
        "[data-window=outputs]",
    ):
        asked(page, "g", "500000")
        _at(page, 500_000)
        link = page.locator(inside).locator('a[data-step]:not([data-step="500000"])').last
        to = int(link.get_attribute("data-step") or -1)
        enter(link)
        _at(page, to)
    enter(page.get_by_role("link", name="More keys"))
    expect(page.get_by_role("link", name="First keys")).to_be_visible()
    enter(page.get_by_role("link", name="First keys"))
    expect(page.get_by_role("link", name="First keys")).to_have_count(0)
    enter(page.get_by_label("Enclosing"), "ArrowDown")
    expect(page).to_have_url(re.compile("unit="))
    enter(page.locator("#kinds").get_by_role("link").last)
    enter(page.get_by_role("button", name="Note here"))
    page.keyboard.type("by keys")
    press(page, "Tab", "Tab", "Tab", "Tab", "Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator("#notes")).to_contain_text("Nothing noted")
    asked(page, "g", "700000")
    _at(page, 700_000)
    enter(page.locator("#fork").get_by_role("button", name="Fork").first)
    page.wait_for_url(lambda url: "/replays/r_" in url and "step=700000" not in url)
    cancel = page.get_by_role("button", name="Cancel")
    expect(cancel).to_be_visible()
    enter(cancel)
    expect(page.get_by_text("This replay was cancelled.")).to_be_visible()
    enter(page.get_by_role("link", name="Delete"))
    enter(page.get_by_role("button", name="Delete"))
    page.wait_for_url("**/jobs/**")
    page.goto(f"{site.url}/replays/{large}/?step=3")
    _at(page, 3)


FOCUSABLE = """() => [...document.querySelectorAll(
    'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled && !one.closest("dialog"))
  .map((one) => { one.dataset.reached = ""; return one.outerHTML.slice(0, 160); })"""
REACHED = """() => { const one = document.activeElement;
  if (one === document.body) return null;
  const style = getComputedStyle(one);
  const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== "none";
  const again = one.dataset.reached === "yes"; one.dataset.reached = "yes";
  return { again, seen, what: one.outerHTML.slice(0, 160) }; }"""


def test_every_control_is_reached_by_tab_and_shows_that_it_is(page: Page) -> None:  # noqa: F811
    asked(page, "/", "kind = snapshot")
    press(page, "Control+Enter")
    expect(page.locator("#stops [data-breakpoint]")).to_have_count(1)
    press(page, "Tab")
    page.locator("#strip").focus()
    press(page, "m")
    page.keyboard.type("here")
    press(page, "Control+Enter")
    expect(page.locator("#notes [data-note]")).to_have_count(1)
    page.wait_for_load_state("networkidle")
    wanted = page.evaluate(FOCUSABLE)
    assert len(wanted) > 60
    page.evaluate("() => document.activeElement.blur()")
    unseen = []
    for _ in range(2 * len(wanted)):
        press(page, "Tab")
        reached = page.evaluate(REACHED)
        if reached and reached["again"]:
            break
        if reached and not reached["seen"]:
            unseen.append(reached["what"])
    missed = page.evaluate("""() => [...document.querySelectorAll('[data-reached=""]')].map((one) => one.outerHTML)""")
    assert (missed, unseen) == ([], [])
