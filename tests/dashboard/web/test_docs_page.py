"""The page of the API's documentation in a real browser: it renders under the policy, from this server alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import ConsoleMessage, Page, Request, sync_playwright

from tests.dashboard.web.server import RealServer
from tests.services.chromium import chromium_program
from tests.services.processes import ServiceMissing

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    running = RealServer(tmp_path_factory.mktemp("docs") / "data")
    running.start()
    yield running
    running.stop()


@pytest.fixture
def page(server: RealServer) -> Iterator[Page]:
    try:
        chromium = chromium_program()
    except ServiceMissing as missing:
        pytest.skip(str(missing))
    person = server.people(ada=None)["ada"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context()
        context.add_cookies([{"name": "clonoscope_session", "value": person.session, "url": server.url}])
        yield context.new_page()
        browser.close()


def test_the_documentation_renders_under_the_policy(server: RealServer, page: Page) -> None:
    complaints: list[str] = []
    asked: list[str] = []

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(message.text)

    def requested(request: Request) -> None:
        asked.append(request.url)

    page.on("console", said)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", requested)
    page.goto(f"{server.url}/api/docs")
    shown = page.locator(".opblock")
    shown.filter(has_text="Read Table").wait_for(timeout=30_000)
    shown.filter(has_text="Upload Bundle").click()
    shown.locator("select", has_text="multipart/form-data").wait_for(timeout=30_000)
    outside = [url for url in asked if not url.startswith((server.url, "data:"))]
    assert complaints == [] and outside == []


def test_every_operation_says_what_it_takes_and_gives(server: RealServer) -> None:
    ada = server.people(ada=None)["ada"]
    with server.client() as client:
        schema = client.get("/api/openapi.json", headers={"Cookie": f"clonoscope_session={ada.session}"}).json()
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            assert operation.get("description"), (path, method)
            assert operation["responses"] and operation["security"], (path, method)
            for status, answer in operation["responses"].items():
                if int(status) >= 400:
                    assert answer["content"]["application/json"]["schema"]["$ref"].endswith("/Error"), (path, status)
