"""A replay of a million steps: every control answers, by keyboard alone too, and the page never stands still for long.

A job of 250,000 records is recorded, its one operator task killed near the end, and its recovery replayed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import Visitor, come_in
from tests.browser.site import Site
from tests.browser.starting import start_replay
from tests.browser.test_replay_page import _at

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timed]

Visit = Callable[..., Visitor]
STEPS = 1_000_000
TASK, SOURCE, SINK = "map-1.0", "source.0>map-1.0", "map-1.0>sink.0"
RECORDING = (
    "--seed", "7", "--events", "250000", "--parallelism", "1", "--depth", "3", "--rate-per-s", "40000",
    "--checkpoint-interval-ms", "20000", "--kill", f"{TASK}@6100",
)  # fmt: skip
LONGEST_TASK_MS = 100
# What a list holds at most, wherever it was scrolled to; and elements that come and go with that: no row has more.
MOST_ROWS = 48
GROWTH = 3 * MOST_ROWS * 12
WATCH_TASKS = """
window.longest = 0;
const longer = (list) => {
  for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
};
new PerformanceObserver(longer).observe({ type: "longtask", buffered: true });
"""


@pytest.fixture(scope="session")
def large_job(site: Site) -> str:
    return site.job(site.bundle("million.tar", *RECORDING))


@pytest.fixture(scope="module")
def begun(site: Site, browser: Browser, signed_in: Path, large_job: str) -> str:
    """A replay that is being written: started as a person starts it, and left as soon as there are steps to see."""
    context = browser.new_context(storage_state=signed_in)
    page = context.new_page()
    page.goto(f"{site.url}/jobs/{large_job}/")
    replay = start_replay(page)
    page.locator("#strip canvas").wait_for(timeout=60_000)
    context.close()
    return replay


@pytest.fixture(scope="module")
def large(site: Site, browser: Browser, signed_in: Path, request: pytest.FixtureRequest) -> str:
    """The same when it has come to its end: one for all files."""
    if not site.large_replay:
        begun: str = request.getfixturevalue("begun")
        context = browser.new_context(storage_state=signed_in)
        page = context.new_page()
        page.goto(f"{site.url}/replays/{begun}/")
        page.locator('#verdict .badge:has-text("identical")').wait_for(timeout=180_000)
        assert last_of(page) >= STEPS
        context.close()
        site.large_replay = begun
    return site.large_replay


@pytest.fixture
def page(visit: Visit, browser: Browser, large: str) -> Iterator[Page]:
    """In the middle; at the end nothing took long, the page is no larger, and what was kept is gone."""
    visitor = visit(permissions=["clipboard-read", "clipboard-write"])
    visitor.context.add_init_script(WATCH_TASKS)
    browser.start_tracing(page=visitor.page, categories=["toplevel"])
    page = visitor.open(f"/replays/{large}/?step=500000")
    _at(page, 500_000)
    expect(page.locator("#strip canvas")).to_be_visible()
    before = elements(page)
    yield page
    told, worked = page.evaluate("() => window.longest"), longest_ms(browser.stop_tracing())
    assert told < LONGEST_TASK_MS or worked < LONGEST_TASK_MS, f"{told} ms, {worked:.0f} ms of them at work"
    for kept in ("Delete the breakpoint", "Delete the note"):
        deleting = page.get_by_role("button", name=kept)
        while count := deleting.count():
            deleting.first.click()
            expect(deleting).to_have_count(count - 1)
    assert elements(page) < before + GROWTH


def longest_ms(trace: bytes) -> float:
    """The longest task of a page by what its thread worked: what it waits for a busy machine is not its own."""
    events = json.loads(trace)["traceEvents"]
    pages = {
        (one["pid"], one["tid"])
        for one in events
        if one.get("name") == "thread_name" and one["args"]["name"] == "CrRendererMain"
    }
    tasks = [
        one["tdur"]
        for one in events
        if "tdur" in one and "RunTask" in one["name"] and (one["pid"], one["tid"]) in pages
    ]
    assert len(tasks) > 100, "the trace holds the page's tasks"
    return max(tasks) / 1000


def elements(page: Page) -> int:
    return int(page.evaluate("() => document.querySelectorAll('*').length"))


def last_of(page: Page) -> int:
    return int(page.locator("#replay").get_attribute("data-last") or 0)


def here(page: Page) -> int:
    return int(page.locator("#replay").get_attribute("data-step") or 0)


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def shows(page: Page, text: str) -> None:
    expect(page.locator("#where")).to_contain_text(text)


def rows_of(page: Page, name: str) -> Locator:
    return page.locator(f"[data-window={name}] tbody tr")


def asked(page: Page, key: str, words: str) -> None:
    press(page, key)
    page.keyboard.type(words)
    press(page, "Enter")


def test_two_watch_it_being_written_and_see_what_the_other_changes(
    site: Site, browser: Browser, visit: Visit, begun: str, large_job: str, tmp_path: Path
) -> None:
    owner = visit().open(f"/replays/{begun}/?step=3")
    state = come_in(site, browser, site.reader_link(large_job), tmp_path / "reader.json")
    watcher = visit(storage_state=state).open(f"/replays/{begun}/?step=3")
    first = {page: last_of(page) for page in (owner, watcher)}
    press(owner, "m")
    owner.keyboard.type("while it is being written")
    press(owner, "Control+Enter")
    expect(owner.locator("#noted")).to_have_text("while it is being written")
    press(owner, "b")
    expect(watcher.locator("#noted")).to_have_text("while it is being written")
    expect(watcher.locator("#stops code")).to_have_text(owner.locator("#stops code").inner_text())
    for page in (owner, watcher):
        assert page.locator("#replay").get_attribute("data-pending") == "yes"
        expect(page.locator("#verdict")).to_contain_text("identical", timeout=180_000)
        assert first[page] < STEPS <= last_of(page)
        _at(page, 3)
        expect(page.locator("#noted")).to_have_text("while it is being written")
        expect(page.locator("#stops [data-hits]")).to_contain_text("hit")
    for kept in ("Delete the note", "Delete the breakpoint"):
        owner.get_by_role("button", name=kept).click()
        expect(owner.get_by_role("button", name=kept)).to_have_count(0)
    expect(watcher.locator("#notes")).to_contain_text("has written none")
    expect(watcher.locator("#stops")).to_contain_text("Nothing to stop at")


def test_moving_by_keys_alone(page: Page) -> None:
    last = last_of(page)
    for key, step in (
        ("n", 500_001), ("ArrowRight", 500_002), ("N", 500_001), ("ArrowLeft", 500_000), ("End", last), ("n", last),
        ("Home", 0), ("N", 0), ("PageDown", 100), ("PageUp", 0),
    ):  # fmt: skip
        press(page, key)
        _at(page, step)
    for words, shown in (
        ("700,000", "at "), ("+10", "at "), ("epoch 1", "epoch 1"), ("Replaying", "Every answer is in"),
        ("record 777", "record 777"), ("7.5 s", "at 7.50"),
    ):  # fmt: skip
        asked(page, "g", words)
        expect(page.locator("#now")).to_contain_text(shown)
    asked(page, "g", "250000")
    _at(page, 250_000)
    kind = page.locator("#where span").first.inner_text()
    press(page, ".")
    expect(page.locator("#now")).not_to_have_attribute("data-shown", "250000")
    shows(page, kind)
    press(page, ",")
    _at(page, 250_000)
    for key in ("u", "o", "O", "U"):
        press(page, key)
        shows(page, "deliver-record" if key != "U" else "record")
    press(page, "[")
    expect(page.locator("#why")).to_have_attribute("data-effect", re.compile(r"\d"))
    cause = here(page)
    press(page, "]")
    expect(page.locator("#now")).not_to_have_attribute("data-shown", str(cause))
    press(page, "?")
    expect(page.get_by_role("dialog", name="Keys on this page")).to_contain_text("a note on this step")
    press(page, "Escape")


def test_stopping_and_searching_by_keys_alone(page: Page) -> None:
    search = f'kind = hold-back and channel = "{SINK}" from hit 1000'
    press(page, "/")
    page.keyboard.type(search)
    press(page, "Control+Enter")
    stop = page.locator("#stops [data-breakpoint]", has_text=search)
    expect(stop.locator("[data-hits]")).to_contain_text("hits")
    press(page, "Tab")  # out of the field
    page.locator("#strip").focus()
    press(page, "Home", "c")
    shows(page, "hold-back")
    stopped = here(page)
    press(page, "c")
    expect(page.locator("#now")).not_to_have_attribute("data-shown", str(stopped))
    press(page, "C")
    _at(page, stopped)
    stop.get_by_role("switch").focus()
    press(page, "Space")
    expect(stop.get_by_role("switch")).not_to_be_checked()
    press(page, "c")
    expect(page.locator(".toast")).to_contain_text("No breakpoint is enabled.")
    page.locator("#strip").focus()
    press(page, "b")
    expect(page.locator("#stops [data-breakpoint]")).to_have_count(2)
    page.get_by_role("button", name=re.compile("^Delete the breakpoint kind = hold-back and")).last.focus()
    press(page, "Enter")
    expect(page.locator("#stops [data-breakpoint]")).to_have_count(1)
    page.locator("#strip").focus()
    press(page, "/", "Control+a")
    page.keyboard.type("kind = take-buffer not preceded by kind = hold-back in the same epoch within 100 steps")
    expect(page.locator("#find-said")).to_have_text(re.compile(r"^[\d,]+ hits$"))
    press(page, "Enter")
    shows(page, "take-buffer")
    hit = here(page)
    press(page, "Enter")
    expect(page.locator("#now")).not_to_have_attribute("data-shown", str(hit))
    press(page, "Shift+Enter")
    _at(page, hit)


def test_the_strip_and_the_lists_by_keys_alone(page: Page) -> None:
    press(page, "w", "w", "w")
    expect(page).to_have_url(re.compile(r"view=\d+-\d+"))
    expect(page.locator("#strip-whole")).to_contain_text("show all")
    press(page, "d", "f", "a", "s")
    expect(page).to_have_url(re.compile(r"view=\d+-\d+"))
    asked(page, "g", "17")
    _at(page, 17)
    expect(page).to_have_url(re.compile(r"view=0-\d+"))
    page.locator("#strip-whole").focus()
    press(page, "Enter")
    expect(page.locator("#strip-whole")).to_be_hidden()
    expect(page.locator("#strip")).to_be_focused()
    for name, total in (("log", 250_000), ("outputs", 7_000), ("steps", STEPS)):
        window = page.locator(f"[data-window={name}]")
        assert int(window.get_attribute("data-total") or 0) >= total
        window.focus()
        first = rows_of(page, name).first.inner_text()
        press(page, "End")
        expect(rows_of(page, name).first).not_to_have_text(first)
        press(page, "PageUp", "ArrowUp", "ArrowDown", "PageDown")
        assert rows_of(page, name).count() <= MOST_ROWS
        press(page, "Home")
        expect(rows_of(page, name).first).to_have_text(re.compile(r"^\s*(#?0\D|sink\.00)"))
    _at(page, 17)  # scrolling moves no step
    page.locator("[data-window=steps]").focus()
    press(page, "End")
    expect(rows_of(page, "steps").last).to_contain_text(f"{last_of(page):,}")
    link = rows_of(page, "steps").last.get_by_role("link")
    link.focus()
    expect(link).to_be_focused()
    press(page, "Enter")
    _at(page, last_of(page))


def test_notes_and_the_link_by_keys_alone(page: Page, visit: Visit) -> None:
    press(page, "m")
    page.keyboard.type("half of it")
    press(page, "Control+Enter")
    expect(page.locator("#noted")).to_have_text("half of it")
    page.get_by_role("button", name="Change the note").focus()
    press(page, "Enter", "End")
    page.keyboard.type(" and more")
    press(page, "Tab", "Tab")
    page.keyboard.type("600,000")
    press(page, "Enter")
    expect(page.locator("#notes")).to_contain_text("steps 500,000 to 600,000")
    page.locator("#strip").focus()
    press(page, "w", "w")
    expect(page).to_have_url(re.compile(r"view="))
    page.get_by_label("Keys that begin with").focus()
    page.keyboard.type("by_")
    expect(page).to_have_url(re.compile(r"prefix=by_"))
    press(page, "Tab")
    page.get_by_role("link", name=re.compile("^Show all")).focus()
    press(page, "Enter")
    expect(page.get_by_role("link", name="Fold it again")).to_be_visible()
    asked(page, "/", "divergence")
    expect(page.locator(".toast")).to_contain_text("It hits nowhere behind this step.")
    page.locator("#why a[data-step]").first.focus()
    press(page, "y")
    expect(page.locator(".toast")).to_contain_text("Link copied")
    link = page.evaluate("() => navigator.clipboard.readText()")
    same = visit().open(link.removeprefix(page.url.split("/replays")[0]))
    _at(same, 500_000)
    for shown in ("#find", "#prefix"):
        expect(same.locator(shown)).to_have_value(page.locator(shown).input_value())
    for shown in ("#strip-whole", "#why h3", ".state-rows", "#notes", "#noted"):
        assert same.locator(shown).all_inner_texts() == page.locator(shown).all_inner_texts()
    expect(same.locator("#why")).to_be_in_viewport()


def test_every_button_and_link_by_pointer(page: Page) -> None:
    last = last_of(page)
    for name, step in (
        ("step", 500_001), ("Step back", 500_000), ("Last step", last), ("First step", 0),
    ):  # fmt: skip
        page.locator(".steer").get_by_role("link", name=name, exact=True).click()
        _at(page, step)
    for state in ("Running", "Replaying"):
        page.locator(".diagram").get_by_role("link", name=state).click()
        expect(page.locator(".diagram .current")).to_have_text(state)
    page.locator("#kinds tr", has_text="hold-back").get_by_role("link").click()
    shows(page, "hold-back")
    page.locator("#find").fill("kind = snapshot")
    page.get_by_role("button", name="Keep as breakpoint").click()
    expect(page.locator("#stops [data-breakpoint]")).to_have_count(1)
    page.get_by_role("button", name="next", exact=True).click()
    shows(page, "snapshot")
    page.get_by_role("link", name="First step").click()
    page.get_by_role("link", name="Continue", exact=True).click()
    shows(page, "snapshot")
    page.get_by_role("link", name="Last step").click()
    page.get_by_role("link", name="Reverse-continue").click()
    shows(page, "snapshot")
    page.get_by_role("link", name="Last hit before this step").click()
    expect(page.locator(".toast")).to_contain_text("It hits nowhere before this step.")
    page.get_by_label("Enclosing").select_option("buffer")
    for button in ("out", "back over", "over"):
        before = here(page)
        page.get_by_role("button", name=button, exact=True).click()
        expect(page.locator("#replay")).not_to_have_attribute("data-step", str(before))
    expect(page).to_have_url(re.compile("unit=buffer"))
    page.get_by_role("link", name="More keys").click()
    expect(page.get_by_role("link", name="First keys")).to_be_visible()
    page.get_by_role("link", name="First keys").click()
    expect(page.get_by_role("link", name="First keys")).to_have_count(0)
    page.get_by_role("button", name="Copy the link to this step").click()
    expect(page.locator(".toast")).to_contain_text("Link copied")


def test_the_strip_and_the_lists_by_pointer(page: Page) -> None:
    box = page.locator("#strip canvas").bounding_box()
    assert box is not None
    left, wide, y = box["x"] + 64, box["width"] - 70, box["y"] + 30
    page.mouse.click(left + wide * 0.25, y)
    assert here(page) == pytest.approx(0.25 * last_of(page), abs=2_000)
    page.mouse.down()
    for share in range(25, 75):
        page.mouse.move(left + wide * share / 100, y)
    page.mouse.up()
    assert here(page) == pytest.approx(0.74 * last_of(page), abs=2_000)
    expect(page.locator(".strip-tip")).to_have_text(f"step {here(page):,}")
    page.mouse.dblclick(left + wide * 0.5, y)
    expect(page.locator("#strip-whole")).to_be_visible()
    page.get_by_role("button", name="Zoom into the strip").click()
    page.get_by_role("button", name="Zoom out of the strip").click()
    page.locator("#strip-whole").click()
    expect(page.locator("#strip-whole")).to_be_hidden()
    _at(page, here(page))
    for name in ("log", "outputs", "steps"):
        window = page.locator(f"[data-window={name}]")
        window.scroll_into_view_if_needed()
        place = window.bounding_box()
        assert place is not None
        page.mouse.move(place["x"] + 40, place["y"] + place["height"] / 2)
        before = rows_of(page, name).first.inner_text()
        for _ in range(30):
            page.mouse.wheel(0, 400)
        expect(rows_of(page, name).first).not_to_have_text(before)
        page.evaluate("name => { document.querySelector(`[data-window=${name}]`).scrollTop = 1000 }", name)
        expect(rows_of(page, name)).not_to_have_count(0)
        assert rows_of(page, name).count() <= MOST_ROWS
    rows_of(page, "outputs").nth(30).get_by_role("link").click()
    expect(page.locator("#where")).to_contain_text(re.compile("hold-back|send-buffer|cut-buffer"))
