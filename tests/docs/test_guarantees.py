"""The page about guarantees names every form of evidence and every verdict that there is."""

import re

from replay.guarantees import claims
from replay.guarantees.in_one_sentence import SAID
from tests.docs.pages import table


def test_every_form_of_evidence_is_documented() -> None:
    forms = re.findall(r"^ {4}(\w+:\S+)", claims.__doc__ or "", re.MULTILINE)
    assert table("guarantees.md", "evidence", "names").column("evidence") == forms


def test_every_verdict_is_documented() -> None:
    documented = table("guarantees.md", "verdict", "means").column("verdict")
    assert all(documented == list(words) for words in SAID.values())
