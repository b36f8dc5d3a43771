"""What people can meet is documented: settings, commands, tables, endpoints, messages, states; and nothing else is."""

import argparse
import ast
import re
from importlib import import_module
from pathlib import Path

import pytest
from django.core.management.base import BaseCommand
from django.urls import URLPattern, URLResolver, get_resolver

from dashboard.api.v1 import api
from dashboard.models import Status, Work
from dashboard.queries import kinds
from dashboard.routing import websocket_urlpatterns
from ingest.lake.schema import LAKE_TABLES
from ingest.lake.step_schema import STEP_TABLES
from replay.debugger.outcome import VERDICTS
from replay.recovery.effects import Effect
from replay.recovery.events import EVENTS
from replay.recovery.states import STATE_NAMES
from tests.docs.faults import MODULES_BY_SECTION, said_in
from tests.docs.pages import DOCS, LINK, ROOT, code_words, markdown_files, page, sections, table, tables

COMMANDS = ROOT / "dashboard" / "management" / "commands"
COMMAND_NAMES = sorted(path.stem for path in COMMANDS.glob("*.py") if path.stem != "__init__")
EVERYWHERE = {"--json", "--data"}


# -- recovery


@pytest.mark.parametrize(
    ("column", "names"),
    [
        ("state", STATE_NAMES),
        ("event", [event.__name__ for event in EVENTS]),
        ("effect", [effect.__name__ for effect in Effect.__args__]),
    ],
    ids=["states", "events", "effects"],
)
def test_every_part_of_the_recovery_is_documented(column: str, names: list[str]) -> None:
    found = next(one for one in tables("recovery.md") if one.header[0] == column)
    assert found.column(column) == list(names)


# -- the lake


@pytest.mark.parametrize("name", LAKE_TABLES)
def test_every_column_of_a_jobs_table_is_documented(name: str) -> None:
    documented = next(one for one in tables("lake.md") if one.section == f"`{name}`")
    assert _columns(documented) == [(field.name, str(field.type)) for field in LAKE_TABLES[name].schema]


@pytest.mark.parametrize("name", STEP_TABLES)
def test_every_column_of_a_replays_table_is_documented(name: str) -> None:
    documented = [one for one in tables("lake.md") if one.section == f"`{name}`"][-1]
    assert _columns(documented) == [(field.name, str(field.type)) for field in STEP_TABLES[name].schema]


def test_no_table_is_documented_that_does_not_exist() -> None:
    documented = [one.section.strip("`") for one in tables("lake.md") if one.header[0] == "column"]
    assert sorted(documented) == sorted([*LAKE_TABLES, *STEP_TABLES])


def _columns(documented) -> list[tuple[str, str]]:
    return list(zip(documented.column("column"), documented.column("type"), strict=True))


# -- settings


def test_every_setting_is_documented_and_every_documented_one_is_read() -> None:
    documented = set(table("operations.md", "variable", "default", "meaning").column("variable"))
    assert documented == settings_read_by("dashboard")


def settings_read_by(package: str) -> set[str]:
    """First arguments of the functions of dashboard.environment, and of os.environ."""
    readers = re.compile(
        r"^(env\.(text|flag|number|words|folder|place|master)|os\.environ\.get|os\.getenv|environ\.get)$"
    )
    found = set()
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and readers.match(ast.unparse(node.func)) and node.args:
                name = node.args[0]
                if isinstance(name, ast.Constant):
                    found.add(str(name.value))
    return found - {"DJANGO_SETTINGS_MODULE"}


# -- commands


def test_every_command_is_documented_and_every_documented_one_exists() -> None:
    assert sorted(sections("commands.md")) == COMMAND_NAMES


@pytest.mark.parametrize("name", COMMAND_NAMES)
def test_every_option_of_a_command_is_documented(name: str) -> None:
    parser = import_module(f"dashboard.management.commands.{name}").Command().create_parser("manage.py", name)
    djangos = {option for action in BaseCommand().create_parser("", "")._actions for option in action.option_strings}
    shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    own = {option for action in shown for option in action.option_strings if option.startswith("--")}
    found = [one for one in tables("commands.md") if one.section == f"`{name}`"]
    documented = set(found[0].column("option")) if found else set()
    assert documented == own - djangos - EVERYWHERE


def test_options_of_every_command_are_documented() -> None:
    assert (
        set(table("commands.md", "option of every command", "meaning").column("option of every command")) == EVERYWHERE
    )


def test_options_of_run_are_documented_there() -> None:
    usage = (ROOT / "run").read_text("utf-8").partition("TEXT\n}")[0]
    parsed = set(re.findall(r"--[a-z-]+(?==\*| \||\))", (ROOT / "run").read_text("utf-8").partition("TEXT\n}")[2]))
    assert parsed <= set(re.findall(r"--[a-z-]+", usage)) | {"--help"}


# -- addresses


def test_every_endpoint_of_the_api_is_documented() -> None:
    documented = table("api.md", "method", "address", "does")
    rows = set(zip(documented.column("method"), documented.column("address"), strict=True))
    assert rows == endpoints()


def endpoints() -> set[tuple[str, str]]:
    found = set()
    for prefix, router in api._routers:
        for path, view in router.path_operations.items():
            address = f"/api/{prefix.strip('/')}/{path.strip('/')}".replace("{", "<").replace("}", ">").rstrip("/")
            found |= {(method, address) for operation in view.operations for method in operation.methods}
    return found


def test_every_websocket_is_documented() -> None:
    documented = table("api.md", "address", "tells").column("address")
    assert documented == [_plain(f"/{one.pattern}") for one in websocket_urlpatterns]


def test_every_page_is_documented() -> None:
    documented = set(table("api.md", "page", "shows").column("page"))
    ours = {
        address for address in _addresses(get_resolver()) if not address.startswith(("/admin/", "/api/", "/static/"))
    }
    assert documented - {"/admin/", "/api/docs"} == ours


def _addresses(resolver: URLResolver, before: str = "/") -> list[str]:
    found: list[str] = []
    for one in resolver.url_patterns:
        address = before + str(one.pattern).removeprefix("^")
        found += [_plain(address)] if isinstance(one, URLPattern) else _addresses(one, address)
    return found


def _plain(address: str) -> str:
    return re.sub(r"<\w+:(\w+)>", r"<\1>", address)


# -- messages and statuses


def test_every_field_of_a_websocket_message_is_documented() -> None:
    from dashboard import progress

    source = ast.parse(Path(progress.__file__).read_text("utf-8"))
    function = next(node for node in source.body if isinstance(node, ast.FunctionDef) and node.name == "state_of")
    message = [node for node in ast.walk(function) if isinstance(node, ast.Dict)][-1]
    keys = [str(key.value) for key in message.keys if isinstance(key, ast.Constant)]
    assert table("api.md", "field", "meaning").column("field") == keys


def test_every_status_is_documented() -> None:
    words = code_words(sections("api.md")["Statuses"])
    choices = [*Status.values, *Work.State.values, *Work.Kind.values]
    assert {str(choice) for choice in choices} <= words


# -- faults of a bundle


@pytest.mark.parametrize("section", MODULES_BY_SECTION)
def test_every_fault_of_a_bundle_is_documented(section: str) -> None:
    documented = re.findall(r"^- (.+)$", sections("faults.md")[section], re.MULTILINE)
    assert sorted(documented) == sorted(said_in(section))


def test_every_kind_of_step_is_documented() -> None:
    documented = table("lake.md", "kind", "what happens").column("kind")
    assert documented == [kind.name for kind in kinds.STEPS]


def test_every_kind_of_step_that_the_debugger_writes_is_known() -> None:
    written = {
        node.args[0].value
        for path in (ROOT / "replay" / "debugger").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("steps.write")
        if isinstance(node.args[0], ast.Constant)
    }
    assert written
    assert written <= {kind.name for kind in kinds.STEPS}


def test_every_verdict_is_documented() -> None:
    documented = table("recovery.md", "verdict", "meaning", "exit status")
    assert sorted(documented.column("verdict")) == sorted(VERDICTS)


# -- the pages themselves


@pytest.mark.parametrize("path", markdown_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    targets = [
        link for link in LINK.findall(path.read_text("utf-8")) if not link.startswith(("http://", "https://", "#"))
    ]
    broken = [link for link in targets if not (path.parent / link.partition("#")[0]).exists()]
    assert broken == []


def test_every_page_is_reachable_from_the_readme() -> None:
    start = ROOT / "README.md"
    reached, waiting = {start}, [start]
    while waiting:
        page_path = waiting.pop()
        for link in LINK.findall(page_path.read_text("utf-8")):
            target = (page_path.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists() and target not in reached:
                reached.add(target)
                waiting.append(target)
    missing = set(DOCS.rglob("*.md")) - reached - {DOCS / "decisions" / "0000-template.md"}
    assert sorted(str(path.relative_to(ROOT)) for path in missing) == []


def test_decisions_are_listed() -> None:
    listed = set(LINK.findall(page("decisions/README.md")))
    assert {path.name for path in (DOCS / "decisions").glob("0*.md")} <= listed


# Places of one machine, addresses of package indexes, notes that are not part of the project.
FORBIDDEN = re.compile(
    "|".join(
        [
            r"/work/(main|shared)",
            r"/tmp/plan",
            r"\.\./shared",
            r"pypi\.org",
            r"pythonhosted",
            r"deb\.debian",
            r"registry\.npmjs",
            r"\b(design|style|facts|ui)\.md\b",
            r"\bissue #?\d",
            r"(?i:\bAI (agent|assistant)\b|\bclaude\b|\bsub-?agents?\b)",
        ]
    )
)
SKIPPED_FOLDERS = {
    ".git",
    ".venv",
    "var",
    "vendor",
    "__pycache__",
    "vectors",
    "recordings",
    ".hypothesis",
    ".mypy_cache",
}
TEXTS = {".py", ".js", ".mjs", ".css", ".html", ".md", ".toml", ".txt", ".in", ".sh", ".json", ".svg"}
WITHOUT_SUFFIX = ("run", "test", ".ci/run", "scripts/lock", ".gitignore")


def project_texts() -> list[Path]:
    return sorted(
        path
        for path in [*ROOT.rglob("*.*"), *(ROOT / name for name in WITHOUT_SUFFIX)]
        if (path.suffix in TEXTS or str(path.relative_to(ROOT)) in WITHOUT_SUFFIX)
        and path.is_file()
        and not SKIPPED_FOLDERS & set(path.relative_to(ROOT).parts)
        and path != Path(__file__)
    )


def test_nothing_in_the_project_speaks_of_where_it_was_made() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in project_texts()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if FORBIDDEN.search(line)
    ]
    assert not found, "\n".join(["", *found])
