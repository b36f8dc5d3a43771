"""Every page in both colour schemes at two widths: no console error, no policy violation, nothing that sticks out,
names for all that can be used, and contrast as painted."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, WIDE, Visitor
from tests.browser.inspection import faults_of, violations_of
from tests.browser.site import KILLED
from tests.browser.starting import audited

pytestmark = pytest.mark.browser

LOOKS = [
    pytest.param({"viewport": viewport, "color_scheme": scheme}, id=f"{name}-{scheme}")
    for name, viewport in (("wide", WIDE), ("narrow", NARROW))
    for scheme in ("light", "dark")
]
# Page -> what must be there before one looks at it.
PAGES = {
    "jobs": ("/", "#job-rows a"),
    "job": ("/jobs/{killed}/", ".graph-svg .task"),
    "job with a task": ("/jobs/{killed}/?task=sink.0", ".timeline-svg .epochs rect"),
    "job in part": ("/jobs/{faulty}/", "#rejects-title"),
    "log": ("/jobs/{killed}/logs/?task=" + KILLED, "#rows tr"),
    "log of one kind": ("/jobs/{killed}/logs/?task=" + KILLED + "&kind=order&seq=3", "#rows tr"),
    "causal path": ("/jobs/{killed}/paths/?task=" + KILLED, "#sharing .depths"),
    "recovery anatomy": ("/jobs/{killed}/recovery/?load=0.4&standby=no", ".gantt-svg .bar"),
    "causal path of a sink": ("/jobs/{killed}/paths/?task=sink.0", "#depths-title"),
    "space and time": ("/jobs/{killed}/spacetime/", "#picture:not([aria-busy=true]) canvas"),
    "space and time around a failure": (
        "/jobs/{killed}/spacetime/?from=1400000&to=1700000&select=failure:0",
        "#picture:not([aria-busy=true]) canvas",
    ),
    "space and time of hidden tasks": (
        "/jobs/{killed}/spacetime/?folded=sink&hidden=map-1.0,map-1.1&cut=1500000",
        "#picture:not([aria-busy=true]) canvas",
    ),
    "sql": (
        "/jobs/{killed}/sql/?q=SELECT+task,+sum(bytes)+AS+bytes+FROM+counts+GROUP+BY+task&draw=bars&y=1",
        "#picture rect",
    ),
    "sql with a mistake": ("/jobs/{killed}/sql/?q=SELECT+nothing+FROM+counts", "#refused"),
    "audit": ("/jobs/{killed}/audit/", "main"),
    "evidence": ("/jobs/{killed}/evidence/?of=event:12", "tr.chosen"),
    "any set of failures": ("/jobs/{killed}/audit/failing/?failed=" + KILLED + "&at_ms=1400", "#asking-title"),
    "attempts side by side": ("/compare/?job={killed}&task=" + KILLED + "&attempt=0&other_attempt=1", "#report-title"),
    "which two attempts": ("/compare/?job={killed}", "#choose-title"),
    "replays": ("/jobs/{killed}/replays/", "main table"),
    "replay": ("/replays/{replay}/?step=500", "#strip canvas"),
    "replay at its beginning": ("/replays/{replay}/", "#strip canvas"),
    "deleting a replay": ("/replays/{replay}/delete/", "h1"),
    "deleting a job": ("/jobs/{killed}/delete/", "h1"),
    "sharing": ("/jobs/{killed}/sharing/", "h1"),
    "account": ("/account/", "h1"),
    "people": ("/people/", "h1"),
}


@pytest.mark.parametrize("look", LOOKS)
def test_pages_can_be_read_by_everyone(
    look: dict[str, object], visit: Callable[..., Visitor], killed_job: str, faulty_job: str, replay: str
) -> None:
    visitor = visit(**look)
    audited(visitor.open(f"/jobs/{killed_job}/audit/"))
    faults = []
    for name, (path, awaited) in PAGES.items():
        page = visitor.open(path.format(killed=killed_job, faulty=faulty_job, replay=replay))
        expect(page.locator(awaited).first).to_be_attached()
        _settle(page)
        faults += [f"{name}: {fault}" for fault in (*faults_of(page), *violations_of(page))]
    assert not faults, "\n".join(faults)


def test_a_page_that_is_not_there_says_so_in_the_same_look(visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.expects("404")
    page = visitor.open("/jobs/j_000000000000/")
    expect(page.get_by_role("heading", level=1)).to_have_text("There is nothing here")
    assert [*faults_of(page), *violations_of(page)] == []


def test_who_is_not_signed_in_can_read_the_way_in(visit: Callable[..., Visitor]) -> None:
    page = visit(known=False).open("/login/")
    assert [*faults_of(page), *violations_of(page)] == []


def test_the_help_sheet_lists_the_keys_of_the_page(visit: Callable[..., Visitor], replay: str) -> None:
    page = visit().open(f"/replays/{replay}/")
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keys on this page")
    expect(sheet).to_contain_text("step back")
    expect(sheet).to_contain_text("go to a step")
    assert faults_of(page) == []
    page.keyboard.press("n")
    expect(page.locator("#now")).to_have_attribute("data-shown", "0")
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()


def test_the_help_sheet_has_every_key_that_the_page_names(visit: Callable[..., Visitor], replay: str) -> None:
    """Buttons and fields say their keys; and what the sheet says of keys alone is done by them."""
    page = visit().open(f"/replays/{replay}/?step=400")
    page.locator("#strip canvas").wait_for()
    named = page.evaluate("""() => [...document.querySelectorAll("[title], [aria-keyshortcuts]")].flatMap((one) =>
      [one.getAttribute("aria-keyshortcuts"), /\\(([^()]{1,12})\\)$/.exec(one.title)?.[1]]).filter(Boolean)""")
    named += page.locator("main kbd, header kbd").all_text_contents()
    page.keyboard.press("?")
    sheet = set(page.locator("#keys-list kbd").all_text_contents())
    assert {"n", "c", "Shift Enter", "Ctrl Enter", "Home", "y", "m", "/"} <= {one.strip() for one in named} | sheet
    assert {one.strip() for one in named} - sheet - {"Shift"} == set()
    assert len(page.locator("#keys-list dt").all()) == len(page.locator("#keys-list dd").all()) > 25


def test_the_first_tab_leads_past_the_header(visit: Callable[..., Visitor]) -> None:
    page = visit().open("/")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    expect(page.locator(":focus")).to_have_attribute("id", "content")


def _settle(page: Page) -> None:
    """Pictures are drawn a frame after their place has a size."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
