"""A real server, a real Chromium, and visitors whose every console error and policy violation fails their test."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, ViewportSize, expect, sync_playwright

from tests.browser.site import Site
from tests.browser.starting import start_replay

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
)
WIDE: ViewportSize = {"width": 1440, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 844}
# Says a violation out loud in the console, where the visitor listens.
WATCH_POLICY = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy violated: ${event.violatedDirective} by ${event.blockedURI} ${event.sourceFile ?? ""}`));
"""


# Generous, for machines that run other tests beside these; what is awaited comes in milliseconds else.
expect.set_options(timeout=30_000)


@dataclass
class Visitor:
    """One window's worth of a person: a page, and what went wrong on it."""

    site: Site
    context: BrowserContext
    page: Page
    expected: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def expects(self, pattern: str) -> None:
        """A console error that belongs to what is being tested, such as a refused upload's status."""
        self.expected.append(pattern)

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.site.url}{path}")
        return self.page

    def second_window(self) -> Page:
        return watched(self.context.new_page(), self.wrong)

    def unexpected(self) -> list[str]:
        return [one for one in self.wrong if not any(re.search(pattern, one) for pattern in self.expected)]


def watched(page: Page, wrong: list[str]) -> Page:
    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            wrong.append(f"{page.url}: {message.type}: {message.text}")

    page.on("console", heard)
    page.on("pageerror", lambda fault: wrong.append(f"{page.url}: {fault}"))
    return page


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("site"))
    site.start()
    yield site
    site.stop()


# Playwright runs an event loop in the thread of the tests, where Django and asyncio want none: it ends with its module.
@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def signed_in(site: Site, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state of a browser that came in by a one-time link: one for all modules, as none of them signs out."""
    if site.signed_in is None:
        site.signed_in = come_in(site, browser, site.login_link(), tmp_path_factory.mktemp("signed-in") / "state.json")
    return site.signed_in


@pytest.fixture(scope="module")
def reader(site: Site, browser: Browser, killed_job: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of somebody with whom the job of the killed task is shared."""
    return come_in(site, browser, site.reader_link(killed_job), tmp_path_factory.mktemp("reader") / "state.json")


def come_in(site: Site, browser: Browser, link: str, kept: Path) -> Path:
    context = browser.new_context()
    page = context.new_page()
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{site.url}/")
    context.storage_state(path=kept)
    context.close()
    return kept


@pytest.fixture
def visit(site: Site, browser: Browser, signed_in: Path) -> Iterator[Callable[..., Visitor]]:
    """`visit()` is a signed-in person at a wide window; options are Playwright's for a context."""
    visitors: list[Visitor] = []

    def arrive(*, known: bool = True, **options: Any) -> Visitor:
        settings = {"viewport": WIDE, "color_scheme": "light", "storage_state": signed_in if known else None, **options}
        context = browser.new_context(**settings)
        context.set_default_timeout(30_000)
        context.add_init_script(WATCH_POLICY)
        wrong: list[str] = []
        visitor = Visitor(site, context, watched(context.new_page(), wrong), wrong=wrong)
        visitors.append(visitor)
        return visitor

    yield arrive
    unexpected = [one for visitor in visitors for one in visitor.unexpected()]
    for visitor in visitors:
        visitor.context.close()
    assert unexpected == []


@pytest.fixture(scope="session")
def killed_job(site: Site) -> str:
    """A job in which a task was killed and recovered."""
    return site.job(site.killed_bundle())


@pytest.fixture(scope="module")
def faulty_job(site: Site) -> str:
    return site.job(site.faulty_bundle())


@pytest.fixture(scope="module")
def replay(site: Site, browser: Browser, signed_in: Path, killed_job: str) -> str:
    """The id of a finished replay of the killed task, started as a person starts it, once for all."""
    if site.replay:
        return site.replay
    context = browser.new_context(storage_state=signed_in, viewport=WIDE)
    page = context.new_page()
    page.goto(f"{site.url}/jobs/{killed_job}/")
    started = start_replay(page)
    page.locator('#verdict .badge:has-text("identical")').wait_for(timeout=120_000)
    context.close()
    site.replay = started
    return site.replay
