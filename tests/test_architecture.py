"""The house stands as it was drawn: import rules, sizes and names, each rule shown to catch a planted violation."""

import textwrap

import pytest

from tests.architecture import front_rules, python_rules, style_rules
from tests.architecture.python_rules import Rule
from tests.architecture.sources import PACKAGES, Import, Sources, imports_of, javascript_imports, read_sources

PYTHON = read_sources(*PACKAGES)
ALL_PYTHON = PYTHON | read_sources("tests", "bench", "scripts")
FRONT = read_sources("static/js", "static/css", "templates", suffixes=(".js", ".mjs", ".css", ".html"))
JAVASCRIPT_TESTS = read_sources("tests/js", suffixes=(".js", ".mjs"))


def subject_of(rule: Rule) -> Sources:
    if rule in python_rules.RULES:
        return PYTHON
    if rule in front_rules.RULES:
        return FRONT
    sized = (style_rules.files_have_one_subject, style_rules.names_say_what_things_are)
    return ALL_PYTHON | FRONT | JAVASCRIPT_TESTS if rule in sized else ALL_PYTHON


ALL_RULES = (*python_rules.RULES, *style_rules.RULES, *front_rules.RULES)


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps_the_rule(rule: Rule) -> None:
    violations = rule(subject_of(rule))
    assert not violations, "\n".join(["", *violations])


LONG_FUNCTION = '"""M."""\ndef f():\n' + "    x = 1\n" * 71

# One or more violations per rule: (rule, path, text).
PLANTED: list[tuple[Rule, str, str]] = [
    (python_rules.packages_import_one_way, "ingest/a.py", "import dashboard.models"),
    (python_rules.packages_import_one_way, "ingest/a.py", "def f():\n    from dashboard import models"),
    (python_rules.packages_import_one_way, "dashboard/a.py", "from ingest.transforms import scan"),
    (python_rules.packages_import_one_way, "dashboard/a.py", "import ingest.jobs.driver"),
    (python_rules.packages_import_one_way, "replay/log/a.py", "import ingest.lake"),
    (python_rules.packages_import_one_way, "replay/log/a.py", "from clonoscope import recorder"),
    (python_rules.packages_import_one_way, "clonoscope/a.py", "import ingest"),
    (python_rules.packages_import_one_way, "dashboard/a.py", "from tests import conftest"),
    (python_rules.replay_imports_downwards, "replay/log/a.py", "from replay.bundle import reader"),
    (python_rules.replay_imports_downwards, "replay/log/a.py", "from ..runtime import task"),
    (python_rules.replay_imports_downwards, "replay/log/a.py", "def f():\n    import replay.simulation.world"),
    (python_rules.replay_imports_downwards, "replay/jobs/a.py", "from replay.protocols import clonos"),
    (python_rules.replay_imports_downwards, "replay/protocols/a.py", "import replay.jobs.pass_through"),
    (python_rules.replay_imports_downwards, "replay/errors.py", "from replay import model"),
    (python_rules.replay_imports_downwards, "replay/recovery/a.py", "if TYPE_CHECKING:\n    import replay.runtime"),
    (python_rules.a_body_knows_no_engine, "replay/runtime/body/a.py", "from replay.runtime import engine"),
    (python_rules.a_body_knows_no_engine, "replay/runtime/operators/a.py", "import replay.runtime.attempts.attempt"),
    (python_rules.replay_knows_all_its_rooms, "replay/attic/a.py", ""),
    (python_rules.replay_is_standard_library_only, "replay/log/a.py", "import numpy"),
    (python_rules.replay_is_standard_library_only, "replay/log/a.py", "def f():\n    import zstandard"),
    (python_rules.replay_is_standard_library_only, "replay/bundle/containers.py", "import zstandard"),
    (python_rules.clonoscope_imports_others_lazily, "clonoscope/a.py", "def f():\n    import pyspark"),
    (python_rules.clonoscope_imports_others_lazily, "clonoscope/adapters/spark.py", "import pyspark"),
    (python_rules.ingest_never_imports_django, "ingest/a.py", "from django.conf import settings"),
    (python_rules.lake_and_launch_never_load_spark, "ingest/lake/a.py", "def f():\n    import pyspark.sql"),
    (python_rules.launch_is_standard_library_only, "ingest/launch.py", "import pyarrow"),
    (python_rules.live_stands_apart, "replay/live.py", "from replay.log import codec"),
    (python_rules.live_stands_apart, "replay/runtime/a.py", "from replay import live"),
    (python_rules.live_stands_apart, "dashboard/views/a.py", "import replay.live"),
    (python_rules.replay_touches_the_real_world_in_live_only, "replay/runtime/a.py", "import time"),
    (python_rules.replay_touches_the_real_world_in_live_only, "replay/runtime/a.py", "import random\nrandom.random()"),
    (python_rules.replay_touches_the_real_world_in_live_only, "replay/runtime/a.py", "import os\nos.environ['A']"),
    (python_rules.replay_touches_the_real_world_in_live_only, "replay/log/a.py", "datetime.datetime.now()"),
    (style_rules.files_have_one_subject, "replay/a.py", "x = 1\n" * 501),
    (style_rules.functions_fit_on_a_screen, "replay/a.py", LONG_FUNCTION),
    (style_rules.modules_say_what_they_own, "dashboard/a.py", "x = 1"),
    (style_rules.public_names_of_replay_have_docstrings, "replay/a.py", '"""M."""\nclass Log:\n    pass'),
    (style_rules.names_say_what_things_are, "dashboard/utils.py", ""),
    (style_rules.names_say_what_things_are, "static/js/state/helpers.js", ""),
    (style_rules.names_say_what_things_are, "dashboard/a.py", "class UploadManager:\n    pass"),
    (style_rules.guards_survive_optimisation, "replay/a.py", "assert x"),
    (style_rules.exceptions_are_not_swallowed, "ingest/a.py", "try:\n    f()\nexcept Exception:\n    pass"),
    (style_rules.exceptions_are_not_swallowed, "ingest/a.py", "try:\n    f()\nexcept:\n    pass"),
    (front_rules.javascript_imports_one_way, "static/js/layout/a.js", 'import { b } from "./b.js";'),
    (front_rules.javascript_imports_one_way, "static/js/state/a.js", 'import "../charts/b.js";'),
    (front_rules.javascript_imports_one_way, "static/js/charts/a.js", 'export { b } from "../pages/b.js";'),
    (front_rules.javascript_imports_one_way, "static/js/charts/a.js", 'const b = await import("../pages/b.js");'),
    (front_rules.javascript_imports_one_way, "static/js/attic/a.js", 'import "./b.js";'),
    (front_rules.javascript_has_no_bare_imports, "static/js/charts/a.js", 'import * as d3 from "d3";'),
    (front_rules.javascript_has_no_bare_imports, "static/js/charts/a.js", 'import "https://example.org/d3.js";'),
    (front_rules.imported_javascript_exists, "static/js/charts/a.js", 'import {\n  b,\n} from "./b.js";'),
    (front_rules.javascript_evaluates_no_text, "static/js/pages/a.js", "eval(text)"),
    (front_rules.javascript_evaluates_no_text, "static/js/pages/a.js", "node.innerHTML = text"),
    (front_rules.templates_hold_no_inline_code, "templates/a.html", "<script>go()</script>"),
    (front_rules.templates_hold_no_inline_code, "templates/a.html", '<p class="a" style="color: red">'),
    (front_rules.templates_hold_no_inline_code, "templates/a.html", '<button onclick="go()">'),
]


@pytest.mark.parametrize(("rule", "path", "text"), PLANTED, ids=lambda value: getattr(value, "__name__", None))
def test_the_rule_catches_a_planted_violation(rule: Rule, path: str, text: str) -> None:
    found = rule({path: text})
    assert len(found) == 1, found
    assert path.removesuffix("/a.py") in found[0]


def test_every_rule_has_a_planted_violation() -> None:
    assert {rule for rule, _, _ in PLANTED} == set(ALL_RULES)


def test_spark_is_found_behind_other_modules() -> None:
    sources = {
        "ingest/lake/readers.py": "from ingest.jobs import kept",
        "ingest/jobs/__init__.py": "",
        "ingest/jobs/kept.py": "import pyspark",
    }
    assert python_rules.lake_and_launch_never_load_spark(sources) == [
        "ingest/jobs/kept.py:1: imports pyspark: what the web process loads must not load Spark"
    ]


def test_what_the_design_allows_is_allowed() -> None:
    sources = {
        "dashboard/a.py": "from ingest.lake.readers import Lake\nfrom ingest import launch\nimport replay.model",
        "ingest/a.py": "from replay.bundle import reader\nimport pyspark",
        "replay/bundle/containers.py": "def f():\n    import zstandard",
        "replay/runtime/a.py": "import random\nchoice = random.Random(7).choice",
        "replay/simulation/__main__.py": "from replay import live\nfrom replay.guarantees import ledger",
    }
    assert [violation for rule in python_rules.RULES for violation in rule(sources)] == []


def test_imports_are_read_wherever_they_stand() -> None:
    text = textwrap.dedent(
        """
        import a, b.c
        from .d import e
        class K:
            def f(self):
                from .. import g
        importlib.import_module("h")
        """
    )
    assert imports_of("replay/log/x.py", text) == [
        Import("replay/log/x.py", 2, "a", lazy=False),
        Import("replay/log/x.py", 2, "b.c", lazy=False),
        Import("replay/log/x.py", 3, "replay.log.d.e", lazy=False),
        Import("replay/log/x.py", 6, "replay.g", lazy=True),
        Import("replay/log/x.py", 7, "h", lazy=False),
    ]


def test_javascript_imports_in_comments_do_not_count() -> None:
    text = '// import "./a.js";\n/* import "./b.js"; */\nimport x from "./c.js";\nimport "./d.js";\n'
    assert javascript_imports(text) == ["./c.js", "./d.js"]
