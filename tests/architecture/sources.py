"""The project's source texts by path, and the imports that stand in them."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("replay", "ingest", "dashboard", "clonoscope")

# Path below the project's folder -> text: what rules work on, real or planted.
Sources = Mapping[str, str]


def read_sources(*folders: str, suffixes: tuple[str, ...] = (".py",)) -> dict[str, str]:
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in suffixes)
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in sorted(paths) if _is_ours(path)}


def _is_ours(path: Path) -> bool:
    return not {"vendor", "__pycache__", "migrations"} & set(path.parts)


@dataclass(frozen=True, slots=True)
class Import:
    """``name`` is the imported module, or ``module.name`` where a name may itself be a module."""

    path: str
    line: int
    name: str
    lazy: bool

    @property
    def top(self) -> str:
        return self.name.partition(".")[0]

    def violation(self, why: str) -> str:
        return f"{self.path}:{self.line}: imports {self.name}: {why}"


def module_name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


def imports_of(path: str, text: str) -> list[Import]:
    """Every import, those inside functions and under TYPE_CHECKING too."""
    return list(_found(path, text))


@cache
def _found(path: str, text: str) -> tuple[Import, ...]:
    return tuple(_walk(path, parsed(text), lazy=False))


def _walk(path: str, node: ast.AST, lazy: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names, lineno=line):
                yield from (Import(path, line, alias.name, lazy) for alias in names)
            case ast.ImportFrom(lineno=line):
                base = _base(path, child)
                yield from (Import(path, line, f"{base}.{alias.name}", lazy) for alias in child.names)
            case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]):
                yield Import(path, child.lineno, name, lazy)
        inside = lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _walk(path, child, inside)


def _base(path: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module_name(path).split(".")
    keep = len(parts) - node.level + (1 if path.endswith("/__init__.py") else 0)
    return ".".join([*parts[:keep], *([node.module] if node.module else [])])


def every_import(sources: Sources) -> Iterator[Import]:
    for path, text in sources.items():
        if path.endswith(".py"):
            yield from imports_of(path, text)


def reachable(sources: Sources, starts: list[str]) -> dict[str, str]:
    """Of the project's own modules, those that importing ``starts`` also loads, each with who imports it."""
    modules = {module_name(path): path for path in sources}
    found: dict[str, str] = {}
    waiting = [(start, "itself") for start in starts]
    while waiting:
        path, by = waiting.pop()
        if path in found:
            continue
        found[path] = by
        for imported in imports_of(path, sources[path]):
            for name in _loaded(imported.name):
                if name in modules:
                    waiting.append((modules[name], path))
    return found


def _loaded(name: str) -> list[str]:
    """Importing a.b.c runs a, a.b and a.b.c."""
    parts = name.split(".")
    return [".".join(parts[: n + 1]) for n in range(len(parts))]


_JS_IMPORT = re.compile(
    r"""(?:^|[;\n])\s*(?:import|export)\s[^;'"]*?from\s*["']([^"']+)["']|(?:^|[;\n])\s*import\s*["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']"""
)


def javascript_imports(text: str) -> list[str]:
    without_comments = re.sub(r"/\*.*?\*/|^\s*//[^\n]*", "", text, flags=re.DOTALL | re.MULTILINE)
    return [next(filter(None, match)) for match in _JS_IMPORT.findall(without_comments)]
