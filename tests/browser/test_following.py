"""The page of a job that is still recorded: its switch, and new epochs that come in while somebody looks at it."""

from __future__ import annotations

import os
import random
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bench.growing import Growth, members_of
from bench.server_process import begin_command, wait_until
from tests.browser.conftest import NARROW, Visitor
from tests.browser.inspection import faults_of, violations_of
from tests.browser.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.spark]

Visit = Callable[..., Visitor]
# Spark may have to start, and versions are made beside whatever else the machine does.
PATIENCE_MS = 240_000
TOLD = "Number(/(\\d+) epochs?/.exec(document.getElementById('counts').innerText)[1])"


@pytest.fixture
def growth(site: Site, tmp_path: Path) -> Growth:
    options = ["--events", "3000", "--seed", "5", "--checkpoint-interval-ms", "200"]
    manifest, members = members_of(site.bundle("to-be-followed", *options))
    growth = Growth(manifest, members, tmp_path / "growing", random.Random(5), epochwise=True)
    growth.grow(0.2)
    return growth


@pytest.fixture
def job(site: Site, growth: Growth) -> Iterator[str]:
    """Its first version is there, and the command that began to follow it was interrupted."""
    lake = site.data / "lake"
    before = set(os.listdir(lake))
    command = begin_command(site.data, "ingest", str(growth.folder), "--follow")

    def published() -> list[str]:
        return [name for name in set(os.listdir(lake)) - before if name.startswith("j_")]

    try:
        [job] = wait_until(published, "the first version", PATIENCE_MS / 1000)
    finally:
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=PATIENCE_MS / 1000)
    yield job


def test_new_epochs_come_in_while_the_page_is_looked_at(visit: Visit, job: str, growth: Growth) -> None:
    page = visit().open(f"/jobs/{job}/")
    narrow = visit(viewport=NARROW, color_scheme="dark").open(f"/jobs/{job}/")
    notice = page.locator("#following")
    expect(notice).to_contain_text("not followed")
    notice.get_by_role("button", name="Follow", exact=True).click()
    expect(notice).to_contain_text("Still being recorded")
    page.evaluate("window.isTheSame = true")
    page.locator("#tasks > summary").click()
    page.locator('#tasks a[data-task="sink.0"]').click()
    expect(page.locator("#task-title")).to_have_text("sink.0")
    page.locator("#colour-by").select_option("determinants")
    determinants = page.locator("#tasks tr.chosen td.number").first
    at_first = determinants.inner_text()
    drawn = page.locator("#timeline svg")
    expect(drawn).to_be_attached()
    for share in (0.3, 0.4):
        before = page.evaluate(TOLD)
        growth.grow(share)
        for one in (page, narrow):
            one.wait_for_function(f"before => {TOLD} > before", arg=before, timeout=PATIENCE_MS)
    expect(page.locator("#tasks")).to_have_attribute("open", "")
    expect(page.locator("#colour-by")).to_have_value("determinants")
    expect(page.locator("#graph-legend")).to_contain_text("determinants")
    expect(page.locator("#task-title")).to_have_text("sink.0")
    expect(determinants).not_to_have_text(at_first)
    expect(drawn).to_be_attached()
    growth.grow(1)
    growth.write_manifest(complete=True)
    for one in (page, narrow):
        expect(one.locator("#following")).to_have_count(0, timeout=PATIENCE_MS)
    expect(page.locator(".header-badges .badge").first).to_have_text("ready", timeout=PATIENCE_MS)
    assert page.evaluate("window.isTheSame") is True


def test_other_pages_stay_as_they_are_and_say_how_much_is_newer(visit: Visit, job: str, growth: Growth) -> None:
    first = visit().open(f"/jobs/{job}/")
    counted = "sql/?q=SELECT+max(epoch)+FROM+determinants"
    ways = {
        "spacetime/?folded=-": "",
        "logs/?task=map-1.0&seq=1": "e",
        "paths/?task=source.0": "Enter",
        "recovery/": "",
        counted: "",
    }
    phone = {"viewport": NARROW, "color_scheme": "dark"}
    pages = {address: visit(**(phone if way == "e" else {})) for address, way in ways.items()}
    shown: dict[str, tuple[str, int]] = {}
    for address, visitor in pages.items():
        page = visitor.open(f"/jobs/{job}/{address}")
        page.wait_for_load_state("networkidle")
        shown[address] = _told(page)
    first.locator("#following").get_by_role("button", name="Follow", exact=True).click()
    growth.grow(0.3)
    for address, visitor in pages.items():
        page, way = visitor.page, ways[address]
        newer = page.get_by_role("button", name=re.compile("newer epochs?: show"))
        expect(newer).to_be_visible(timeout=PATIENCE_MS)
        expect(page.locator("#newer [role=status]")).to_contain_text("more than this page shows")
        assert _told(page) == shown[address], address
        assert faults_of(page) + violations_of(page) == [], address
        with page.expect_navigation():
            if way == "Enter":
                newer.focus()
            if way:
                page.keyboard.press(way)
            else:
                newer.click()
        assert page.url.endswith(f"/jobs/{job}/{address}")
        assert _told(page)[1] > shown[address][1], address
    assert _told(pages[counted].page)[0] != shown[counted][0]
    growth.grow(1)
    growth.write_manifest(complete=True)
    page = pages[counted].page
    expect(page.locator("#newer [role=status]")).to_contain_text("complete", timeout=PATIENCE_MS)
    page.keyboard.press("e")
    expect(page.locator("#newer")).to_have_count(0)


def _told(page: Page) -> tuple[str, int]:
    """What a page says, and of how many epochs it is."""
    return page.locator("#content .stack").first.inner_text(), int(
        page.locator("#newer").get_attribute("data-epochs") or 0
    )
