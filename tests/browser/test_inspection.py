"""The inspection itself: each kind of fault, planted, is found."""

from collections.abc import Callable

import pytest

from tests.browser.conftest import Visitor
from tests.browser.inspection import faults_of

pytestmark = pytest.mark.browser

GOOD = "<main><h1>Title</h1><label for=a>Name</label><input id=a></main>"
PLANTED = {
    "overflow": "<main><h1>T</h1><svg aria-hidden=true width=3000 height=9></svg></main>",
    "standIns": "<main class=scripted><h1>T</h1><p class=only-without-script>Reload</p></main>",
    "no label": "<main><h1>T</h1><input></main>",
    "no name": "<main><h1>T</h1><button></button></main>",
    "level 3 after 1": "<main><h1>T</h1><h3>Deep</h3></main>",
    "stands twice": "<main><h1 id=a>T</h1><p id=a></p></main>",
    "is not there": "<main><h1>T</h1><section aria-labelledby=gone></section></main>",
    "no headers": "<main><h1>T</h1><table><tr><td>1</td></tr></table></main>",
    "first heading": "<main></main>",
    "no alternative": "<main><h1>T</h1><svg></svg></main>",
    "not a list item": "<main><h1>T</h1><ul><p>x</p></ul></main>",
    "contrast": "<main><h1>T</h1><p class=pale>Hard to read</p></main>",
    "contrast: 1": "<main><h1>T</h1><svg aria-hidden=true><text class=pale y=9>Hard to read</text></svg></main>",
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(visit: Callable[..., Visitor], fault: str) -> None:
    page = visit(bypass_csp=True).page
    page.set_content(GOOD)
    assert faults_of(page) == []
    page.set_content(f"<style>.pale {{ color: #bbb; fill: #bbb }}</style>{PLANTED[fault]}")
    assert any(fault in found for found in faults_of(page))
