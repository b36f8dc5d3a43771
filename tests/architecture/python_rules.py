"""Which Python package may import which; each rule returns its violations as sentences."""

import ast
import sys
from collections.abc import Callable, Iterator

from tests.architecture.sources import PACKAGES, Sources, every_import, parsed, reachable

# A module of `replay` imports only what stands further left; packages of one level don't import each other.
REPLAY_LEVELS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("model",),
    ("log",),
    ("bundle",),
    ("causality",),
    ("services",),
    ("recovery",),
    ("runtime",),
    ("protocols", "jobs"),
    ("debugger",),
    ("guarantees",),
    ("simulation",),
)
LEVEL_OF = {name: level for level, names in enumerate(REPLAY_LEVELS) for name in names}

# What a package may import of the others. A longer prefix is meant with all below it.
MAY_IMPORT = {
    "replay": ("replay",),
    "clonoscope": ("clonoscope", "replay"),
    "ingest": ("ingest", "replay"),
    "dashboard": ("dashboard", "ingest.lake", "ingest.launch", "ingest.masters", "replay"),
}
NEVER_IN_INGEST = ("django", "channels", "celery", "ninja", "rest_framework")
REAL_WORLD_MODULES = ("time", "secrets", "uuid", "socket", "threading", "asyncio", "_thread", "multiprocessing")
REAL_WORLD_CALLS = ("os.environ", "os.getenv", "os.urandom", "datetime.now", "datetime.utcnow", "date.today")

Rule = Callable[[Sources], list[str]]


def packages_import_one_way(sources: Sources) -> list[str]:
    return [
        imported.violation(f"{package} may import only {', '.join(MAY_IMPORT[package])}")
        for imported in every_import(sources)
        if (package := imported.path.partition("/")[0]) in MAY_IMPORT
        and imported.top in (*PACKAGES, "tests", "bench", "scripts")
        and not _below(imported.name, MAY_IMPORT[package])
    ]


def replay_imports_downwards(sources: Sources) -> list[str]:
    return [
        imported.violation(f"{here} stands at or below the level of {there}")
        for imported in every_import(sources)
        if (here := _room(imported.path)) in LEVEL_OF
        and (there := _room_of_module(imported.name)) in LEVEL_OF
        and here != there
        and LEVEL_OF[there] >= LEVEL_OF[here]
    ]


def a_body_knows_no_engine(sources: Sources) -> list[str]:
    """The debugger drives a task's body and its operators without the engine around them."""
    rooms = ("replay.runtime.body", "replay.runtime.operators")
    return [
        imported.violation("a body and its operators follow from inputs and choices, whoever drives them")
        for imported in every_import(sources)
        if imported.path.startswith(tuple(room.replace(".", "/") + "/" for room in rooms))
        and _below(imported.name, ("replay.runtime",))
        and not _below(imported.name, rooms)
    ]


def replay_knows_all_its_rooms(sources: Sources) -> list[str]:
    known = {*LEVEL_OF, "live", "__init__", "__main__"}
    rooms = {_room(path) for path in sources if path.startswith("replay/")}
    return [f"replay/{room} has no level in tests/architecture/python_rules.py" for room in sorted(rooms - known)]


def replay_is_standard_library_only(sources: Sources) -> list[str]:
    return [
        imported.violation("replay is standard library only")
        for imported in every_import(sources)
        if imported.path.startswith("replay/")
        and imported.top not in (*sys.stdlib_module_names, "replay")
        and not (imported.top == "zstandard" and imported.lazy and imported.path == "replay/bundle/containers.py")
    ]


def clonoscope_imports_others_lazily(sources: Sources) -> list[str]:
    return [
        imported.violation("outside adapters and encryption, and eagerly, clonoscope is standard library only")
        for imported in every_import(sources)
        if imported.path.startswith("clonoscope/")
        and imported.top not in (*sys.stdlib_module_names, *PACKAGES)
        and not (imported.lazy and ("adapters" in imported.path or "encryption" in imported.path))
        and not (imported.lazy and imported.top == "pytest" and imported.path == "clonoscope/pytest_plugin.py")
    ]


def ingest_never_imports_django(sources: Sources) -> list[str]:
    return [
        imported.violation("ingest runs without the web")
        for imported in every_import(sources)
        if imported.path.startswith("ingest/") and imported.top in NEVER_IN_INGEST
    ]


def lake_and_launch_never_load_spark(sources: Sources) -> list[str]:
    starts = [path for path in sources if path.startswith(("ingest/lake/", "ingest/launch"))]
    return [
        imported.violation("what the web process loads must not load Spark")
        for path in reachable(sources, starts)
        for imported in every_import({path: sources[path]})
        if imported.top == "pyspark"
    ]


def launch_is_standard_library_only(sources: Sources) -> list[str]:
    starts = [path for path in sources if path.startswith("ingest/launch")]
    return [
        imported.violation("ingest.launch is standard library only")
        for path in reachable(sources, starts)
        for imported in every_import({path: sources[path]})
        if imported.top not in (*sys.stdlib_module_names, *PACKAGES)
    ]


def live_stands_apart(sources: Sources) -> list[str]:
    """`replay.live` touches the real world: it imports errors and model only, entry points alone import it."""
    wrong = [
        imported.violation("replay.live imports only errors and model of replay")
        for imported in every_import(sources)
        if imported.path == "replay/live.py"
        and imported.top in PACKAGES
        and not _below(imported.name, ("replay.errors", "replay.model"))
    ]
    return wrong + [
        imported.violation("only entry points import replay.live")
        for imported in every_import(sources)
        if _below(imported.name, ("replay.live",)) and not is_entry_point(imported.path)
    ]


def is_entry_point(path: str) -> bool:
    """A module that a person or a parent process starts."""
    return path.endswith("/__main__.py") or path.startswith(
        ("dashboard/management/commands/", "ingest/jobs/", "clonoscope/command")
    )


def replay_touches_the_real_world_in_live_only(sources: Sources) -> list[str]:
    wrong = []
    for path, text in sources.items():
        if not path.startswith("replay/") or path == "replay/live.py":
            continue
        wrong += [
            imported.violation("real time, randomness and threads belong to replay/live.py")
            for imported in every_import({path: text})
            if imported.top in REAL_WORLD_MODULES
        ]
        wrong += [f"{path}:{line}: {name} belongs to replay/live.py" for line, name in _real_world_uses(text)]
    return wrong


def _real_world_uses(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(parsed(text)):
        if not isinstance(node, ast.Attribute):
            continue
        name = ast.unparse(node)
        unseeded = name.startswith("random.") and not name.startswith("random.Random")
        if unseeded or name.endswith("random.SystemRandom") or any(name.endswith(call) for call in REAL_WORLD_CALLS):
            yield node.lineno, name


def _below(name: str, prefixes: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def _room(path: str) -> str:
    parts = path.removesuffix(".py").split("/")
    return parts[1] if parts[0] == "replay" and len(parts) > 1 else ""


def _room_of_module(name: str) -> str:
    parts = name.split(".")
    return parts[1] if parts[0] == "replay" and len(parts) > 1 else ""


RULES: tuple[Rule, ...] = (
    packages_import_one_way,
    replay_imports_downwards,
    a_body_knows_no_engine,
    replay_knows_all_its_rooms,
    replay_is_standard_library_only,
    clonoscope_imports_others_lazily,
    ingest_never_imports_django,
    lake_and_launch_never_load_spark,
    launch_is_standard_library_only,
    live_stands_apart,
    replay_touches_the_real_world_in_live_only,
)
