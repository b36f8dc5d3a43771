"""A report as JUnit XML, which build servers read: a suite for each section, with a case for it and for each claim."""

from __future__ import annotations

from xml.etree import ElementTree

from replay.guarantees.expecting import UNDECIDED
from replay.guarantees.reporting.evidence import in_words
from replay.guarantees.reporting.words import BAD, OPEN, Told, about, standing

MOST_CASES = 200
"""Claims of a section that have a case of their own."""


def junit(report: Told) -> str:
    """Failed is what is bad, and what does not meet the expectation; skipped what can't be decided."""
    root = ElementTree.Element("testsuites", name="clonoscope audit")
    suite = ElementTree.SubElement(root, "testsuite", name=_clean(f"audit of {report['recording']['job']}"))
    _verdict(suite, report)
    for section in report["sections"]:
        suite = ElementTree.SubElement(root, "testsuite", name=_clean(section["name"]))
        _section(suite, section, report)
    for suite in root:
        suite.set("tests", str(len(suite)))
        for what, tag in (("failures", "failure"), ("skipped", "skipped")):
            suite.set(what, str(len(suite.findall(f"./testcase/{tag}"))))
    declared = '<?xml version="1.0" encoding="utf-8"?>\n'
    return declared + ElementTree.tostring(root, encoding="unicode") + "\n"


def _verdict(suite: ElementTree.Element, report: Told) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname="audit", name=_clean(report["expected"] or "good"))
    if not report["good"]:
        failure = ElementTree.SubElement(case, "failure", type=_clean(report["verdict"] or "not good"))
        failure.set("message", _clean(report["sentence"]))
        failure.text = _clean("\n".join(f"{one} is not as it should be" for one in report["unmet"]))


def _section(suite: ElementTree.Element, section: Told, report: Told) -> None:
    unmet = section["name"] in report["unmet"]
    case = ElementTree.SubElement(suite, "testcase", classname=_clean(section["name"]), name="verdict")
    found = standing(section["verdict"], section["good"])
    if unmet and found == BAD:
        _failed(case, section["verdict"], section["sentence"], [])
    elif found == OPEN and section["lacks"]:
        ElementTree.SubElement(case, "skipped", message=_clean(section["sentence"]))
    for claim in section["claims"][:MOST_CASES]:
        _claim(suite, section, claim, unmet=unmet)
    further = max(0, len(section["claims"]) - MOST_CASES) + section["claims_left_out"]
    if further:
        told = ElementTree.SubElement(suite, "testcase", classname=_clean(section["name"]), name="further claims")
        ElementTree.SubElement(told, "system-out").text = f"{further:,} more claims have no case of their own."


def _claim(suite: ElementTree.Element, section: Told, claim: Told, *, unmet: bool) -> None:
    name = _clean(f"{about(claim['about'])}: {claim['verdict']}")
    case = ElementTree.SubElement(suite, "testcase", classname=_clean(section["name"]), name=name)
    if unmet and standing(claim["verdict"]) == BAD:
        _failed(case, claim["verdict"], claim["sentence"], claim["evidence"])
    elif claim["verdict"] == UNDECIDED:
        ElementTree.SubElement(case, "skipped", message=_clean(claim["sentence"]))


def _failed(case: ElementTree.Element, verdict: str, sentence: str, names: list[str]) -> None:
    failure = ElementTree.SubElement(case, "failure", type=_clean(verdict), message=_clean(sentence))
    failure.text = _clean("\n".join([sentence, *(f"Proven by: {in_words(one)} ({one})" for one in names)]))


def _clean(text: str) -> str:
    """XML has no way to say most control characters."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in str(text))
