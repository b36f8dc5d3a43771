"""Operators of installed packages are found by entry point; nothing else that a recording names is ever imported."""

import json
import sys
from pathlib import Path

import pytest

from replay.debugger.replay import replay
from replay.jobs.installed import UnknownOperator, find_installed
from replay.jobs.registry import OPERATORS, new_operator
from replay.model import Vertex
from tests.packages.installing import install, write_package
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import bundle_of

PRICES = "shop.operators:Prices"


def vertex_with(operator: str) -> Vertex:
    return Vertex("map-1", "operator", operator)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sample package, on the path for as long as the test runs."""
    entry_points = [f"{name} = shop.operators:{name.partition(':')[2]}" for name in (
        PRICES, "shop.operators:NoOperator", "shop.operators:no_class", "shop.operators:NeedsArguments",
    )]  # fmt: skip
    others = ["org.shop.Prices = shop.operators:Prices", "gone = shop.operators:Gone", "broken = broken.operators:Any"]
    install(tmp_path, "shop", [*entry_points, *others, "replay.jobs.word_count:Count = shop.operators:Prices"])
    write_package(tmp_path, "broken", "raise SystemError('not on this machine')")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [one for one in sys.modules if one.partition(".")[0] in ("shop", "broken")]:
        del sys.modules[name]


@pytest.mark.parametrize("name", [PRICES, "org.shop.Prices"])
def test_an_installed_operator_is_made(installed: Path, name: str) -> None:
    made = new_operator(vertex_with(name))
    assert type(made).__name__ == "Prices" and Path(sys.modules["shop.operators"].__file__).is_relative_to(installed)
    found = find_installed(name)
    assert found is not None and (found.package, found.target) == ("shop 1.0", PRICES)


def test_a_recording_of_an_installed_operator_is_executed_again(installed: Path) -> None:
    members = one_failure()
    manifest = json.loads(members.members["job.json"])
    for vertex in manifest["vertices"]:
        vertex["operator"] = vertex["operator"].replace("replay.jobs.pass_through:PassThrough", PRICES)
    assert PRICES in json.dumps(manifest)
    outcome = replay(bundle_of(members.with_("job.json", json.dumps(manifest).encode())), failure=0)
    assert outcome.verdict == "identical", outcome.sentence


def test_no_package_replaces_one_of_ours(installed: Path) -> None:
    assert type(new_operator(vertex_with("replay.jobs.word_count:Count"))) is OPERATORS["replay.jobs.word_count:Count"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("shop.operators:NoOperator", "is no operator"),
        ("shop.operators:no_class", "is no operator"),
        ("shop.operators:NeedsArguments", "can't be made: TypeError"),
        ("gone", "can't be loaded: AttributeError"),
        ("broken", "can't be loaded: SystemError: not on this machine"),
    ],
)
def test_what_is_registered_and_cannot_be_had_is_said(installed: Path, name: str, why: str) -> None:
    with pytest.raises(UnknownOperator, match=why):
        new_operator(vertex_with(name))


def test_two_packages_that_claim_one_name_are_both_refused(installed: Path) -> None:
    install(installed, "shop", [f"{PRICES} = shop.operators:Loops"], name="rival")
    with pytest.raises(UnknownOperator, match="several installed packages"):
        new_operator(vertex_with(PRICES))


HOSTILE = [
    "",
    ":",
    "::",
    " ",
    "os:system",
    "os",
    "subprocess:Popen",
    "builtins:eval",
    "replay.bundle:..",
    "replay.bundle.reader:Bundle",
    "replay.runtime.operators:Operator",
    "replay.jobs.pass_through:_Counting",
    "replay.jobs.pass_through:PassThrough.__init__",
    "../../etc/passwd:x",
    "..shop.operators:Prices",
    "shop..operators:Prices",
    "shop.operators:Prices.",
    "shop.operators",
    "shop.operators:Loops",
    "shop.operators:Prices.__class__",
    "shop.operators:__import__",
    "shop.operators:PassThrough",
    "this:s",
    "antigravity:webbrowser",
    "never_imported.by_anybody:Operator",
    "shop.operators:Prices\n",
    "shop.operators:Prices\x00",
    "[clonoscope.operators]",
    "a = b:c",
    "\ud800:x",
    "x" * 1_000_000,
    ".".join(["a"] * 100_000) + ":B",
    "%s%n{0}:{0.__class__}",
]


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:24]))
def test_a_name_that_nobody_registered_imports_nothing(installed: Path, name: str) -> None:
    before = set(sys.modules)
    with pytest.raises(UnknownOperator) as refused:
        new_operator(vertex_with(name))
    assert set(sys.modules) - before == set()
    assert "no package has an entry point of that name in the group clonoscope.operators" in str(refused.value)
    assert str(refused.value).isprintable() and len(str(refused.value)) < 600
