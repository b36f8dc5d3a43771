"""A replay of a million steps: every way of moving answers, and the page never stands still for long."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from bench.moving import write
from tests.browser.conftest import Visitor
from tests.browser.site import Site
from tests.browser.test_replay_page import _at

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.serial]

STEPS = 1_000_000
LONGEST_TASK_MS = 100
WATCH_TASKS = """
window.longest = 0;
const longer = (list) => {
  for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
};
new PerformanceObserver(longer).observe({ type: "longtask", buffered: true });
"""


@pytest.fixture(scope="module")
def large(site: Site, replay: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The replay with a million steps in the place of its own, which come back."""
    made = tmp_path_factory.mktemp("large")
    write(made, STEPS)
    place = (site.data / "lake" / "replays" / replay).resolve()
    own = tmp_path_factory.mktemp("own") / "steps"  # out of the way of the sweeper
    shutil.move(place, own)
    shutil.move(made, place)
    yield replay
    shutil.rmtree(place)
    shutil.move(own, place)


def keep(page: Page, search: str) -> None:
    page.keyboard.press("/")
    page.locator("#find").fill(search)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#stops code", has_text=search)).to_have_count(1)
    page.locator("#strip").focus()


def test_every_way_of_moving_over_a_million_steps(visit: Callable[..., Visitor], large: str) -> None:
    visitor = visit()
    visitor.context.add_init_script(WATCH_TASKS)
    page = visitor.open(f"/replays/{large}/?step=500000")
    last = int(page.locator("#replay").get_attribute("data-last") or 0)
    assert last >= STEPS - 1
    expect(page.locator("#now")).to_have_attribute("data-shown", "500000")
    for key, step in (("n", 500_001), ("N", 500_000), ("End", last), ("Home", 0), ("PageDown", 100)):
        page.keyboard.press(key)
        _at(page, step)
    keep(page, 'kind = hold-back and channel = "join.2>sink.3" from hit 1000')
    page.keyboard.press("c")
    expect(page.locator("#where")).to_contain_text("hold-back")
    stopped = int(page.locator("#now").get_attribute("data-shown") or 0)
    page.keyboard.press("c")
    expect(page.locator("#now")).not_to_have_attribute("data-shown", str(stopped))
    page.keyboard.press("C")
    _at(page, stopped)
    for words, shown in (("epoch 4", "epoch 4"), ("record 777", "record 777"), ("2.10002 s", "at 2.100 s")):
        page.keyboard.press("g")
        page.keyboard.type(words)
        page.keyboard.press("Enter")
        expect(page.locator("#where")).to_contain_text(shown)
    page.keyboard.press("u")
    expect(page.locator("#where")).to_contain_text("deliver-record")
    page.keyboard.press("o")
    page.keyboard.press("O")
    page.locator("#strip").focus()
    page.keyboard.press("Home")
    _at(page, 0)
    page.keyboard.press("/")
    page.locator("#find").fill("kind = take-buffer not preceded by kind = hold-back in the same epoch within 100 steps")
    expect(page.locator("#find-said")).to_contain_text("hits")
    expect(page.locator("#find-said")).not_to_contain_text("so far")
    page.keyboard.press("Enter")
    expect(page.locator("#where")).to_contain_text("take-buffer")
    assert page.evaluate("() => window.longest") < LONGEST_TASK_MS
    page.get_by_role("button", name="Delete the breakpoint").click()
    expect(page.locator("#stops")).to_contain_text("Nothing to stop at")
