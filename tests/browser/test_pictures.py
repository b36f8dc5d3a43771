"""Remakes docs/pictures: every page in both colour schemes, and what a phone shows. Run by `./test --screenshots`."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bench.server_process import ROOT
from tests.browser.conftest import NARROW, WIDE, Visitor
from tests.browser.site import Site
from tests.browser.starting import audited

pytestmark = [pytest.mark.browser, pytest.mark.screenshots]

# What is shown of a page where it is not its beginning.
FURTHER_DOWN = ("#hops-title", "#shares-title")
PICTURES = ROOT / "docs" / "pictures"
TASK = "map-1.2"
RECORDING = (
    "--seed",
    "7",
    "--events",
    "30000",
    "--rate-per-s",
    "8000",
    "--parallelism",
    "4",
    "--depth",
    "4",
    "--kill",
    f"{TASK}@2600",
)


@pytest.fixture(scope="module")
def shown(site: Site) -> dict[str, str]:
    """A job that is worth looking at, and its replay."""
    job = site.job(site.bundle("pass-through.tar.zst", *RECORDING))
    return {"job": job}


def test_pictures_are_remade(visit: Callable[..., Visitor], shown: dict[str, str]) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    visitor = visit()
    job = shown["job"]
    page = visitor.open(f"/jobs/{job}/")
    page.get_by_role("button", name="Start the replay").click()
    expect(page.locator("#verdict")).to_contain_text("identical", timeout=120_000)
    replay = page.url.partition("?")[0].removeprefix(visitor.site.url)
    _annotate(visitor.open(f"{replay}?step=2202"))
    audited(visitor.open(f"/jobs/{job}/audit/"))
    pages = {
        "jobs": ("/", "#job-rows a"),
        "job": (f"/jobs/{job}/", ".graph-svg .task"),
        "log": (f"/jobs/{job}/logs/?task={TASK}&epoch=2", "#rows tr"),
        "causal-path": (f"/jobs/{job}/paths/?task={TASK}&t=2000000", ".holdings-svg .stair"),
        "sharing": (f"/jobs/{job}/paths/?task={TASK}&t=2000000", "#hops-title"),
        "recovery": (f"/jobs/{job}/recovery/?failure=0", "#gantt svg"),
        "space-time": (f"/jobs/{job}/spacetime/?select=failure:0", "#selected h2"),
        "checkpoints": (f"/jobs/{job}/?checkpoint=2&colour=waiting", "#shares-title"),
        "sql": (
            f"/jobs/{job}/sql/?q=SELECT+task,+kind,+sum(bytes)+AS+bytes%0AFROM+counts%0AGROUP+BY+ALL%0AORDER+BY+bytes+DESC"
            "&draw=bars&x=0&y=2",
            "#picture rect",
        ),
        "audit": (f"/jobs/{job}/audit/", "#verdict"),
        "replay": (f"{replay}?step=2202", "#strip canvas"),
    }
    for suffix, look in {
        "": {"viewport": WIDE, "color_scheme": "light"},
        "-dark": {"viewport": WIDE, "color_scheme": "dark"},
        "-phone": {"viewport": NARROW, "color_scheme": "light"},
        "-phone-dark": {"viewport": NARROW, "color_scheme": "dark"},
    }.items():
        visitor = visit(**look)
        for name, (path, awaited) in pages.items():
            page = visitor.open(path)
            expect(page.locator(awaited).first).to_be_attached()
            if awaited in FURTHER_DOWN:
                page.locator(awaited).evaluate("(one) => one.scrollIntoView({ block: 'center' })")
            _save(page, PICTURES / f"{name}{suffix}.png")


def _annotate(page: Page) -> None:
    """A breakpoint and notes, as somebody leaves them who looked at the recovery before."""
    page.locator("#find").fill("kind = hold-back from hit 5 every 10")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#stops [data-hits]")).to_contain_text("hit")
    running = page.locator('.diagram [data-state="Running"]').get_attribute("data-first")
    for step, text in ((2202, "compare with map-1.3 here"), (running, "a new execution from here on")):
        page.locator("#strip").focus()
        page.keyboard.press("m")
        page.keyboard.type(text)
        page.locator("#note-first").fill(str(step))
        page.locator("#note-last").fill(str(step))
        page.keyboard.press("Enter")
        expect(page.locator("#notes")).to_contain_text(text)


def _save(page: Page, path: Path) -> None:
    """When fonts are there and pictures are drawn: a frame after their place has a size."""
    page.evaluate("() => document.fonts.ready.then(() => true)")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
    page.wait_for_load_state("networkidle")
    page.screenshot(path=path)
