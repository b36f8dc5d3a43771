"""A report as a document: it says all that was found, and nothing that a recording says is markup in it."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from replay.errors import printable
from replay.guarantees.audit import Report
from replay.guarantees.claims import MOST_CLAIMS, Section
from replay.guarantees.expecting import expectation
from replay.guarantees.reporting import markdown
from replay.guarantees.reporting.documents import FORMS, document, write
from replay.guarantees.reporting.junit import MOST_CASES

HOSTILE = [
    "<script>alert(1)</script>",
    "</td></table><img src=x onerror=alert(1)>",
    "a | b\n\n# heading",
    "[x](javascript:alert(1)) ![y](//evil/z.png) `code` **bold** ~~no~~",
    "]]> &amp; \x00\x1b[31m \ud800 \u202e <!-- -->",
    "'\"><svg/onload=alert(1)>",
    "12. see https://evil.example WWW.evil.example and ask @somebody",
]


def report(words: str = "1207", *, expect: str | None = None, verdict: str = "at least once") -> dict[str, Any]:
    processing = Section("processing", "Processing", "exactly once", "Every record was processed once.", True)
    processing.claim("task:map.0", "exactly once", f"{words} was processed once.", ["receipt:a.0>map.0/0#5/0"])
    good = None if verdict == "undecided" else verdict == "exactly once"
    delivery = Section(
        "delivery", "Delivery", verdict, f"It is {words}.", good, numbers={"outputs": 12_345, "of": words}
    )
    delivery.claim(f"sink:{words}", verdict, f"{words} twice.", [f"sink:{words}/0/0#1", "event:7", words])
    delivery.lack(f"task:{words}", f"Nobody knows of {words}.", f"tasks/{words}/0/sink/0.ndjson")
    recording = {"job": words, "recorder": words, "recorded_at": words, "protocol": words, "tasks": 2, "complete": True}
    expected = None if expect is None else expectation(expect)
    return Report(recording, (processing, delivery), expected).to_json()


class Elements(HTMLParser):
    """Every element with its attributes, and all text that is shown."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def html_of(told: dict[str, Any], **more: Any) -> Elements:
    return Elements(document(told, "html", **more).decode())


@pytest.mark.parametrize("words", HOSTILE)
def test_a_page_holds_hostile_words_as_text_alone(words: str) -> None:
    plain, hostile = html_of(report()), html_of(report(words))
    assert [tag for tag, _ in hostile.found] == [tag for tag, _ in plain.found]
    assert {name for _, attrs in hostile.found for name in attrs} == {
        name for _, attrs in plain.found for name in attrs
    }
    assert printable(" ".join(words.split())) in hostile.text
    assert all(c.isprintable() or c == "\n" for c in hostile.text)


def test_a_page_stands_alone() -> None:
    page = html_of(report(), link=lambda name: f"https://here.example/{name}")
    assert not {"script", "link", "img", "iframe", "form"} & {tag for tag, _ in page.found}
    assert not {"src", "style", "srcset"} & {name for _, attrs in page.found for name in attrs}
    (policy,) = [a["content"] for tag, a in page.found if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None and policy.startswith("default-src 'none'")
    assert "url(" not in page.text and "@import" not in page.text


@pytest.mark.parametrize("words", HOSTILE)
def test_in_markdown_no_word_of_a_recording_is_a_mark(words: str) -> None:
    plain, hostile = (document(one, "markdown").decode() for one in (report(), report(words)))
    assert hostile.count("\n") == plain.count("\n")  # no word begins a line of its own
    assert _marks(hostile) == _marks(plain)


def _marks(text: str) -> str:
    """What Markdown would take for a mark, by its own rules: no backslash before it, and no entity."""
    left = re.sub(r"\\[^\w\s]|&(?:lt|gt|amp|#64);", "", text)
    assert not re.search(r"://|www\.|@", left, re.IGNORECASE)  # what platforms make links of
    return re.sub(r"[^\\`*_\[\]<>#|~&$\n]", "", left)


@pytest.mark.parametrize("words", HOSTILE)
def test_junit_of_hostile_words_is_well_formed(words: str) -> None:
    root = ElementTree.fromstring(document(report(words), "junit"))
    failures = root.findall(".//testcase[@classname='delivery']/failure")
    shown = "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in words)
    assert len(failures) == 2 and shown in (failures[1].text or "")


@pytest.mark.parametrize("words", ["1207", *HOSTILE])
def test_json_is_the_report(words: str) -> None:
    told = report(words)
    assert json.loads(document(told, "json")) == told


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_evidence_is_a_link_where_a_page_shows_it(form: str) -> None:
    def link(name: str) -> str | None:
        return "https://here.example/jobs/j_1/?a=1&b=<2>" if name == "event:7" else None

    text = document(report(), form, link).decode()
    hrefs = [attrs["href"] for tag, attrs in Elements(text).found if tag == "a"]
    if form == "html":
        assert hrefs == ["https://here.example/jobs/j_1/?a=1&b=<2>"]
    else:
        assert text.count("](<") == 1 and "[event 7](<https://here.example/jobs/j_1/?a=1&b=%3C2%3E>)" in text
    assert "output 1 of 1207, attempt 0, epoch 0" in text.replace("\\", "")


def cases(told: dict[str, Any]) -> dict[str, str]:
    """By class and name: passed, failed or skipped."""
    root = ElementTree.fromstring(document(told, "junit"))
    for suite in root:
        assert suite.get("tests") == str(len(suite))
        assert suite.get("failures") == str(len(suite.findall("*/failure")))
    return {
        f"{one.get('classname')} {one.get('name')}": next((found.tag for found in one), "passed")
        for one in root.iter("testcase")
    }


def test_what_does_not_meet_the_expectation_fails_and_what_meets_it_passes() -> None:
    found = cases(report(expect="exactly-once"))
    assert found == {
        "audit exactly-once": "failure",
        "processing verdict": "passed",
        "processing task map.0: exactly once": "passed",
        "delivery verdict": "failure",
        "delivery sink 1207: at least once": "failure",
    }
    assert set(cases(report(expect="at-least-once")).values()) == {"passed"}
    assert set(cases(report(verdict="exactly once")).values()) == {"passed"}


def test_what_is_undecided_is_skipped_and_still_meets_nothing() -> None:
    found = cases(report(verdict="undecided", expect="at-least-once"))
    assert found["audit at-least-once"] == "failure"
    assert found["delivery verdict"] == found["delivery sink 1207: undecided"] == "skipped"


@pytest.mark.parametrize("form", FORMS)
def test_every_document_says_verdict_claims_and_what_would_decide_the_rest(form: str, tmp_path: Path) -> None:
    told = report(expect="exactly-once")
    write(tmp_path / "out", told, form)
    text = (tmp_path / "out").read_text("utf-8").replace("\\", "")
    assert "outputs were given to the outside more than once (1207 twice)" in text
    assert "1207 was processed once." in text or form == "junit"
    assert "tasks/1207/0/sink/0.ndjson" in text or form == "junit"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_what_is_left_out_is_counted(form: str) -> None:
    section = Section("delivery", "Delivery", "at least once", "So it is.", False)
    for number in range(MOST_CLAIMS + 1_234):
        section.claim("job", "at least once", f"{number} twice.")
        section.lack("job", f"Nobody knows {number}.", "events.ndjson")
    recording = report()["recording"]
    text = document(Report(recording, (section,)).to_json(), form).decode()
    more = 1_234 if form == "html" else MOST_CLAIMS + 1_234 - markdown.MOST_CLAIMS
    assert text.count(f"{more:,} more claims are not listed") == text.count("1,234 more gaps are not listed") == 1


def test_junit_says_how_many_claims_have_no_case_of_their_own() -> None:
    told = report()
    section = told["sections"][0]
    section["claims"], section["claims_left_out"] = [section["claims"][0]] * (MOST_CASES + 4), 3
    assert "7 more claims have no case of their own." in document(told, "junit").decode()
    section["claims"], section["claims_left_out"] = section["claims"][:MOST_CASES], 0
    assert "have no case" not in document(told, "junit").decode()
