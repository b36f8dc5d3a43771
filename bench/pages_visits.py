"""Visits of a real Chromium, each with an empty cache: when a page can be used, what it costs, how it moves."""

from __future__ import annotations

import math
import shutil
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, StorageState, ViewportSize, sync_playwright

FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync")
SIZE: ViewportSize = {"width": 1440, "height": 900}
WAIT_MS = 120_000.0
SCRIPT = Path(__file__).parent / "pages_window.js"
# Of a stroke so many frames; behind it the page asks for what it has not, which comes while the next one moves.
TIMING = {"strokes": 8, "frames": 30, "restMs": 200}
# What takes a quarter of a second a frame is not watched for minutes.
TIMING_SVG = {"strokes": 2, "frames": 30, "restMs": 200}
LOADED = """async ([selector, withinMs]) => {
  const pictureMs = await window.standsThere(selector, withinMs);
  const [navigation] = performance.getEntriesByType("navigation");
  return { pictureMs, firstByteMs: navigation.responseStart };
}"""
READY = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"


@dataclass(frozen=True, slots=True)
class Look:
    """One visit in ms and bytes. Interactive: its scripts have run, and none of them is at work any more."""

    first_byte_ms: float
    interactive_ms: float
    picture_ms: float
    longest_task_ms: float
    transferred_bytes: int


class Visitor:
    """Somebody who is signed in; each visit begins with a new browser's empty cache."""

    def __init__(self, browser: Browser, url: str, state: StorageState) -> None:
        self._browser, self._url, self._state = browser, url, state

    @contextmanager
    def page(self) -> Iterator[tuple[Page, list[float]]]:
        """And the bytes of each answer to it, as they come."""
        context = self._browser.new_context(viewport=SIZE, storage_state=self._state)
        context.set_default_timeout(WAIT_MS)
        context.add_init_script(path=SCRIPT)
        page, sizes = context.new_page(), list[float]()
        network = context.new_cdp_session(page)
        network.send("Network.enable")
        network.on("Network.loadingFinished", lambda told: sizes.append(told["encodedDataLength"]))
        yield page, sizes
        context.close()

    def look(self, path: str, awaited: str) -> Look:
        with self.page() as (page, sizes):
            loaded = self.open(page, path, awaited)
            page.wait_for_load_state("networkidle")
            tasks: list[tuple[float, float]] = page.evaluate("window.longTasks")
            before = [begun + took for begun, took in tasks if begun <= loaded["pictureMs"]]
            return Look(
                loaded["firstByteMs"],
                max([page.evaluate(READY), *before]),
                loaded["pictureMs"],
                max((took for _, took in tasks), default=0.0),
                round(sum(sizes)),
            )

    def open(self, page: Page, path: str, awaited: str) -> dict[str, float]:
        page.goto(f"{self._url}{path}", wait_until="commit")
        loaded: dict[str, float] = page.evaluate(LOADED, [awaited, WAIT_MS])
        return loaded


@contextmanager
def visiting(url: str, link: str) -> Iterator[Visitor]:
    """Signed in by the server's one-time link."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise SystemExit("Chromium is not installed (Debian package chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        page = browser.new_page()
        page.goto(link)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{url}/")
        yield Visitor(browser, url, page.context.storage_state())
        browser.close()


def of_looks(looks: Sequence[Look]) -> dict[str, float]:
    """The median of each number, but of tasks and bytes the most."""
    return {
        "first_byte_ms": round(statistics.median(one.first_byte_ms for one in looks)),
        "interactive_ms": round(statistics.median(one.interactive_ms for one in looks)),
        "picture_ms": round(statistics.median(one.picture_ms for one in looks)),
        "longest_task_ms": round(max(one.longest_task_ms for one in looks)),
        "kb": round(max(one.transferred_bytes for one in looks) / 1000),
    }


def of_frames(took_ms: Sequence[float]) -> dict[str, float]:
    ordered = sorted(took_ms)
    return {
        "median_ms": round(statistics.median(ordered), 1),
        "p95_ms": round(ordered[math.ceil(0.95 * len(ordered)) - 1], 1),
        "most_ms": round(ordered[-1], 1),
    }
