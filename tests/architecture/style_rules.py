"""How the code reads: sizes, docstrings, names, guards; each rule returns its violations as sentences."""

import ast
import re
from collections.abc import Iterator

from tests.architecture.python_rules import Rule
from tests.architecture.sources import PACKAGES, Sources, parsed

FILE_LINES = 500
FUNCTION_LINES = 70
VAGUE_MODULES = re.compile(r"(^|/)(utils?|helpers?|misc|common|impl)\.(py|js)$")
VAGUE_NAMES = re.compile(r"(Impl|Utils?|Helpers?|Manager)$")
# Names that the field, or a framework, knows them by.
KNOWN_MANAGERS = {"RecoveryManager", "CausalLogManager"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def files_have_one_subject(sources: Sources) -> list[str]:
    return [
        f"{path}: {lines} lines, more than {FILE_LINES}"
        for path, text in sources.items()
        if (lines := text.count("\n")) > FILE_LINES
    ]


def functions_fit_on_a_screen(sources: Sources) -> list[str]:
    return [
        f"{path}:{node.lineno}: {node.name} has {lines} lines, more than {FUNCTION_LINES}"
        for path, node in _functions(sources)
        if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    ]


def modules_say_what_they_own(sources: Sources) -> list[str]:
    return [
        f"{path}: no docstring that says what it owns"
        for path, tree in _python(sources)
        if tree.body and ast.get_docstring(tree) is None
    ]


def public_names_of_replay_have_docstrings(sources: Sources) -> list[str]:
    return [
        f"{path}:{node.lineno}: {node.name} has no docstring"
        for path, tree in _python(sources)
        if path.startswith(("replay/", "clonoscope/"))
        for node in tree.body
        if isinstance(node, Function | ast.ClassDef)
        and not node.name.startswith("_")
        and ast.get_docstring(node) is None
    ]


def names_say_what_things_are(sources: Sources) -> list[str]:
    modules = [f"{path}: a name that says nothing" for path in sources if VAGUE_MODULES.search(path)]
    return modules + [
        f"{path}:{node.lineno}: class {node.name}: a name that says nothing"
        for path, tree in _python(sources)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and VAGUE_NAMES.search(node.name) and node.name not in KNOWN_MANAGERS
    ]


def guards_survive_optimisation(sources: Sources) -> list[str]:
    """`python -O` strips asserts."""
    return [
        f"{path}:{node.lineno}: assert is no guard, use check(condition, why)"
        for path, tree in _python(sources)
        if path.startswith(PACKAGES)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert)
    ]


def exceptions_are_not_swallowed(sources: Sources) -> list[str]:
    return [
        f"{path}:{node.lineno}: a broad except that swallows"
        for path, tree in _python(sources)
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and _is_broad(node) and _does_nothing(node)
    ]


def _is_broad(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or ast.unparse(handler.type) in ("Exception", "BaseException")


def _does_nothing(handler: ast.ExceptHandler) -> bool:
    return all(isinstance(statement, ast.Pass | ast.Continue) for statement in handler.body)


def _python(sources: Sources) -> Iterator[tuple[str, ast.Module]]:
    return ((path, parsed(text)) for path, text in sources.items() if path.endswith(".py"))


def _functions(sources: Sources) -> Iterator[tuple[str, Function]]:
    for path, tree in _python(sources):
        for node in ast.walk(tree):
            if isinstance(node, Function):
                yield path, node


RULES: tuple[Rule, ...] = (
    files_have_one_subject,
    functions_fit_on_a_screen,
    modules_say_what_they_own,
    public_names_of_replay_have_docstrings,
    names_say_what_things_are,
    guards_survive_optimisation,
    exceptions_are_not_swallowed,
)
