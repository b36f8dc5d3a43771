"""Lines of source within sentences are code on the page, and whatever else a sentence quotes stays as it is."""

import pytest

from dashboard.templatetags.pages import with_code


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("They differ.", "They differ."),
        ("", ""),
        ("by a.py:7 `x = now()`; then", "by a.py:7 <code>x = now()</code>; then"),
        ("`a` and `b`", "<code>a</code> and <code>b</code>"),
        ("one ` alone <b>", "one ` alone &lt;b&gt;"),
        ("by `<script>` & more", "by <code>&lt;script&gt;</code> &amp; more"),
    ],
)
def test_code_stands_out_and_stays_text(sentence: str, shown: str) -> None:
    assert with_code(sentence) == shown
