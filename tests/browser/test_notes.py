"""Notes on steps and ranges: by key and pointer, kept in the link's view, and there for another watcher at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import NARROW, Visitor
from tests.browser.inspection import faults_of
from tests.browser.test_replay_page import _at

pytestmark = pytest.mark.browser

Visit = Callable[..., Visitor]


@pytest.fixture
def clean(visit: Visit, replay: str) -> Iterator[None]:
    """Notes and breakpoints are kept with the replay, which the tests share."""
    yield
    page = visit().open(f"/replays/{replay}/?step=0")
    for deleting in (
        page.get_by_role("button", name="Delete the note"),
        page.get_by_role("button", name="Delete the breakpoint"),
    ):
        while before := deleting.count():
            deleting.first.click()
            expect(deleting).to_have_count(before - 1)


def noted(page: Page, text: str) -> Locator:
    return page.locator("#notes [data-note]", has=page.get_by_text(text, exact=True))


def write(page: Page, text: str) -> None:
    page.keyboard.press("m")
    expect(page.get_by_role("dialog", name="A note")).to_be_visible()
    page.keyboard.type(text)
    page.keyboard.press("Control+Enter")
    expect(noted(page, text)).to_have_count(1)


def test_a_note_is_written_changed_and_deleted_by_keyboard_alone(visit: Visit, replay: str, clean: None) -> None:
    page = visit().open(f"/replays/{replay}/?step=120")
    write(page, "first <b>record</b> behind the barrier")
    expect(page.locator("#noted")).to_have_text("first <b>record</b> behind the barrier")
    expect(page.locator("#notes b, #noted b")).to_have_count(0)
    expect(page.locator("#to-notes")).to_have_text("1 note")
    page.keyboard.press("n")
    _at(page, 121)
    expect(page.locator("#noted")).to_be_hidden()
    page.get_by_role("button", name="Change the note on step 120").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#note-text")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("a range")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("130")
    page.keyboard.press("Enter")
    expect(noted(page, "a range").get_by_role("link")).to_have_text("steps 120 to 130")
    expect(page.locator("#noted")).to_have_text("a range")
    page.reload()
    page.wait_for_load_state("networkidle")  # notes are brought back once more as the socket opens, as new elements
    expect(noted(page, "a range")).to_have_attribute("aria-current", "true")
    noted(page, "a range").get_by_role("link").focus()
    page.keyboard.press("Enter")
    _at(page, 120)
    page.get_by_role("button", name="Delete the note on step 120").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#notes")).to_contain_text("Nothing noted")
    expect(page.locator("#note-here")).to_be_focused()


def test_dragging_with_shift_is_a_note_on_a_range(visit: Visit, replay: str, clean: None) -> None:
    page = visit().open(f"/replays/{replay}/?step=0")
    last = int(page.locator("#replay").get_attribute("data-last") or 0)
    box = page.locator("#strip canvas").bounding_box()
    assert box is not None
    wide, y = box["width"] - 70, box["y"] + 30
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 64 + wide * 0.75, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 64 + wide * 0.5, y, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert int(page.get_by_label("From step").input_value()) == pytest.approx(0.5 * last, abs=0.01 * last)
    assert int(page.locator("#note-last").input_value()) == pytest.approx(0.75 * last, abs=0.01 * last)
    page.keyboard.type("the second half")
    page.get_by_role("button", name="Keep the note").click()
    expect(noted(page, "the second half")).to_have_count(1)
    expect(page.locator("#now")).to_have_attribute("data-shown", "0")
    page.mouse.move(box["x"] + 64 + wide * 0.6, box["y"] + 81)
    expect(page.locator(".strip-tip")).to_contain_text("the second half")
    page.mouse.click(box["x"] + 64 + wide * 0.6, box["y"] + 81)
    expect(noted(page, "the second half")).to_have_attribute("aria-current", "true")


def test_what_is_no_note_is_said_and_nothing_is_lost(visit: Visit, replay: str, clean: None) -> None:
    visitor = visit()
    visitor.expects("404")
    page = visitor.open(f"/replays/{replay}/?step=5")
    page.keyboard.press("m")
    page.keyboard.type("far away")
    page.locator("#note-last").fill("somewhere")
    page.keyboard.press("Enter")
    expect(page.locator("#note-said")).to_contain_text("write their numbers")
    page.locator("#note-last").fill("99999999")
    page.keyboard.press("Enter")
    expect(page.locator("#note-said")).to_contain_text("There is no step 99999999")
    expect(page.locator("#note-text")).to_have_value("far away")
    assert faults_of(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator("#notes")).to_contain_text("Nothing noted")


def test_what_is_noted_before_a_page_hears_of_news_is_there_too(visit: Visit, replay: str, clean: None) -> None:
    owner = visit().open(f"/replays/{replay}/?step=40")
    watcher, held = visit().page, list[Route]()

    def hold(route: Route) -> None:
        held.append(route)

    listening = re.compile(r"/net/live[^/]*\.js$")
    watcher.route(listening, hold)
    with watcher.expect_request(listening):
        watcher.goto(owner.url, wait_until="commit")
    expect(watcher.locator("#notes")).to_contain_text("Nothing noted")
    write(owner, "in between")
    expect(noted(owner, "in between")).to_have_count(1)
    expect(noted(watcher, "in between")).to_have_count(0)
    held[0].continue_()
    expect(noted(watcher, "in between")).to_have_count(1)


def test_another_watcher_sees_notes_and_breakpoints_at_once_and_changes_none(
    visit: Visit, replay: str, reader: Path, clean: None
) -> None:
    owner = visit().open(f"/replays/{replay}/?step=40")
    watcher = visit(storage_state=reader).open(f"/replays/{replay}/?step=40")
    expect(watcher.locator("#notes")).to_contain_text("Who owns this replay has written none.")
    write(owner, "look at this")
    expect(noted(watcher, "look at this")).to_have_count(1)
    expect(watcher.locator("#noted")).to_have_text("look at this")
    owner.keyboard.press("b")
    expect(owner.locator("#stops code")).to_have_count(1)
    expect(watcher.locator("#stops code")).to_have_text(owner.locator("#stops code").inner_text())
    expect(watcher.locator("#to-stops")).to_have_text("1 breakpoint")
    owner.get_by_role("switch").click()
    expect(watcher.locator("#stops .badge")).to_have_text("off")
    for key in ("m", "b"):
        watcher.keyboard.press(key)
        expect(watcher.locator(".toast")).to_contain_text("Only who started this replay, or the owner of its job")
    expect(watcher.get_by_role("button", name=re.compile("note|breakpoint", re.IGNORECASE))).to_have_count(0)
    owner.get_by_role("button", name="Delete the note").click()
    expect(watcher.locator("#notes")).to_contain_text("has written none")
    expect(watcher.locator("#noted")).to_be_hidden()


def test_all_of_it_works_without_scripts(visit: Visit, replay: str, clean: None) -> None:
    page = visit(java_script_enabled=False).open(f"/replays/{replay}/?step=9")
    page.get_by_label("Another note").fill("plain")
    page.locator("#new-note-last").fill("12")
    page.get_by_role("button", name="Keep the note").click()
    expect(noted(page, "plain").get_by_role("link")).to_have_text("steps 9 to 12")
    page.get_by_text("Change it").click()
    page.locator("#notes details textarea").fill("plainer")
    page.get_by_role("button", name="Save").click()
    expect(noted(page, "plainer")).to_have_count(1)
    page.get_by_role("button", name="Delete the note").click()
    expect(page.locator("#notes")).to_contain_text("Nothing noted")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_notes_can_be_read_by_everyone(visit: Visit, replay: str, clean: None, scheme: str) -> None:
    page = visit(color_scheme=scheme).open(f"/replays/{replay}/?step=300")
    write(page, "a long word: " + "x" * 300)
    page.keyboard.press("n")
    write(page, "another one")
    assert faults_of(page) == []
    page.keyboard.press("m")
    assert faults_of(page) == []
    page.set_viewport_size(NARROW)
    assert faults_of(page) == []
    page.keyboard.press("Escape")
    assert faults_of(page) == []
