"""Remakes the pictures of what a replay came to: together, diverged, hunted, forked, side by side. Run by
`./test --screenshots`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, WIDE, Visitor
from tests.browser.site import Site
from tests.browser.starting import start_replay
from tests.browser.test_forks import step_of_a_clock_call
from tests.browser.test_hunt import job_of, packages, site, start_hunt  # noqa: F401 - the server has the sample package
from tests.browser.test_pictures import PICTURES, _save
from tests.browser.test_together import RECORDING, SECOND

pytestmark = [pytest.mark.browser, pytest.mark.screenshots]

Visit = Callable[..., Visitor]
LOOKS = {
    "": {"viewport": WIDE, "color_scheme": "light"},
    "-dark": {"viewport": WIDE, "color_scheme": "dark"},
    "-phone": {"viewport": NARROW, "color_scheme": "light"},
    "-phone-dark": {"viewport": NARROW, "color_scheme": "dark"},
}


@pytest.fixture(scope="module")
def together(site: Site) -> str:  # noqa: F811
    return site.job(site.bundle("together.tar", *RECORDING))


def begun(visit: Visit, job: str, verdict: str) -> tuple[Page, str]:
    page = visit().open(f"/jobs/{job}/")
    replay = start_replay(page)
    expect(page.locator("#verdict")).to_contain_text(verdict, timeout=120_000)
    return page, replay


def taken(visit: Visit, name: str, address: str, panel: str) -> None:
    """In every look, the panel that it is about at the top of the window."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for suffix, look in LOOKS.items():
        page = visit(**look).open(address)
        expect(page.locator(panel)).to_be_visible()
        page.locator(panel).evaluate("panel => window.scrollTo(0, panel.getBoundingClientRect().top - 76)")
        _save(page, PICTURES / f"{name}{suffix}.png")


def test_together(visit: Visit, together: str) -> None:
    _, replay = begun(visit, together, "identical")
    taken(visit, "replay-together", f"/replays/{replay}/?step=900", "#now")
    taken(visit, "replay-one-of-them", f"/replays/{replay}/?step=900&task={SECOND}", "#all-steps")


def test_diverged(visit: Visit, site: Site) -> None:  # noqa: F811
    page, replay = begun(visit, site.job(site.flipped_bundle()), "diverged")
    address = page.locator("#diverged-at").get_attribute("href")
    taken(visit, "replay-diverged", f"/replays/{replay}/{address}", "#outcome")


def test_hunted(visit: Visit, site: Site) -> None:  # noqa: F811
    page = visit().open(f"/jobs/{job_of(site, 'Clock')}/")
    replay = start_hunt(page)
    page.locator("#hunt .found").first.wait_for(timeout=120_000)
    taken(visit, "replay-hunted", f"/replays/{replay}/?step=60", "#hunt")


def test_forked_and_side_by_side(visit: Visit, site: Site) -> None:  # noqa: F811
    page, replay = begun(visit, site.job(site.killed_bundle()), "identical")
    step = step_of_a_clock_call(page, replay)
    taken(visit, "replay-what-if", f"/replays/{replay}/?step={step}", "#fork")
    page.goto(f"{page.url.partition('?')[0]}?step={step}")
    offer = page.locator("form.fork-offer", has=page.locator('input[value="value"]'))
    offer.locator('input[name="chosen"]').fill("1600000999999")
    offer.get_by_role("button", name="Fork").click()
    expect(page.locator("#verdict")).to_contain_text("forked", timeout=60_000)
    fork = page.url.split("/replays/")[1].partition("/")[0]
    taken(visit, "replay-forked", f"/replays/{fork}/", ".fork-banner")
    job = site.job(site.killed_bundle())
    taken(visit, "compare", f"/compare/?job={job}&task=map-1.0&attempt=0&other_task=map-1.0&other_attempt=1", "#report")
