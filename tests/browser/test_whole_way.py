"""What a person does, from the one-time link to a link that opens the same step in a second window."""

import base64
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visitor
from tests.browser.site import KILLED, Site
from tests.browser.starting import start_replay

pytestmark = pytest.mark.browser

Visit = Callable[..., Visitor]

# What a file manager does when a file is dropped: the browser hands the page a DataTransfer.
DROP = """
async ([name, base64]) => {
  const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name));
  for (const type of ["dragenter", "dragover", "drop"]) {
    const event = new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: transfer });
    document.getElementById("drop").dispatchEvent(event);
  }
}
"""


def test_from_the_login_link_to_a_shared_step(site: Site, visit: Visit) -> None:
    visitor = visit(known=False)
    page = visitor.page

    page.goto(site.login_link())
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Recordings")).to_be_visible()

    seen = _watch_progress(page)
    _drop(page, site)
    row = page.locator("#job-rows tr").filter(has_text="killed-21")
    expect(row.locator('[data-status="ready"]')).to_be_visible(timeout=120_000)
    assert "accepted" in page.locator("#uploads .text").inner_text()
    assert page.evaluate(seen), "the row must have shown progress before it was ready"

    row.get_by_role("link", name="killed-21").click()
    expect(page.locator("#summary")).to_contain_text(f"{KILLED} failed at 1.500 s")
    start_replay(page)
    expect(page.locator("#verdict")).to_contain_text("identical", timeout=120_000)

    last = _steps_to_the_end_and_back(page)
    page.keyboard.press("End")
    expect(page.locator("#sentence")).to_contain_text("is identical")
    page.keyboard.press("N")
    expect(page).to_have_url(re.compile(rf"step={last - 1}$"))

    other = visitor.second_window()
    other.goto(page.url)
    assert other.locator("#sentence-text").inner_text() == page.locator("#sentence-text").inner_text()
    expect(other.locator("#now")).to_have_attribute("data-shown", str(last - 1))


def _drop(page: Page, site: Site) -> None:
    bundle = site.killed_bundle(seed=21)
    page.evaluate(DROP, [bundle.name, base64.b64encode(bundle.read_bytes()).decode()])


def _watch_progress(page: Page) -> str:
    """Remembers whether a progress element was ever on the page; the expression that tells."""
    page.evaluate(
        """() => {
          window.sawProgress = false;
          const look = () => { window.sawProgress ||= Boolean(document.querySelector("#job-rows [data-progress]")); };
          new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
        }"""
    )
    return "window.sawProgress"


def _steps_to_the_end_and_back(page: Page) -> int:
    """By keyboard alone: some single steps, the pages between, and home again; every step shows its own sentence."""
    last = int(page.locator("#replay").get_attribute("data-last") or 0)
    assert last > 100
    for step in range(1, 6):
        page.keyboard.press("n")
        expect(page.locator("#now")).to_have_attribute("data-shown", str(step))
    for _ in range(last // 100 + 1):
        page.keyboard.press("PageDown")
    expect(page.locator("#now")).to_have_attribute("data-shown", str(last))
    expect(page.locator(".diagram .current")).to_have_text("Running")
    for _ in range(last // 100 + 1):
        page.keyboard.press("PageUp")
    expect(page.locator("#now")).to_have_attribute("data-shown", "0")
    expect(page.locator(".diagram .current")).to_have_text("Standby")
    return last
