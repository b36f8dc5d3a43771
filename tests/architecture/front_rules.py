"""What JavaScript modules may import, and that neither they nor templates need inline code or eval."""

import posixpath
import re
from collections.abc import Iterator

from tests.architecture.python_rules import Rule
from tests.architecture.sources import Sources, javascript_imports

JS = "static/js/"
# Folder below static/js -> the folders it may import from.
MAY_IMPORT = {
    "layout": (),
    "state": ("state", "layout"),
    "net": ("net", "state", "layout"),
    "charts": ("charts", "layout", "state", "vendor"),
    "pages": ("pages", "charts", "layout", "state", "net", "vendor"),
}
EVALUATION = re.compile(r"\beval\(|\bnew Function\(|\.innerHTML\s*=|document\.write\(|setTimeout\(\s*[\"'`]")
TEMPLATE_TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
INLINE = (
    (re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)[^>]*>", re.IGNORECASE), "an inline script"),
    (re.compile(r"<style\b", re.IGNORECASE), "an inline style sheet"),
    (re.compile(r"<[^>]+\sstyle\s*=", re.IGNORECASE), "a style attribute"),
    (re.compile(r"<[^>]+\son[a-z]+\s*=", re.IGNORECASE), "an event handler attribute"),
    (re.compile(r"javascript:", re.IGNORECASE), "a javascript: address"),
)


def javascript_imports_one_way(sources: Sources) -> list[str]:
    wrong = []
    for path, folder, specifier, target in _imports(sources):
        if folder not in MAY_IMPORT:
            wrong.append(f"{path}: static/js/{folder} has no rule in tests/architecture/front_rules.py")
        elif target is not None and target not in MAY_IMPORT[folder]:
            allowed = ", ".join(MAY_IMPORT[folder]) or "nothing"
            wrong.append(f"{path}: imports {specifier}: {folder} may import {allowed}")
    return wrong


def javascript_has_no_bare_imports(sources: Sources) -> list[str]:
    """Without a bundler a browser resolves only relative addresses."""
    return [
        f"{path}: imports {specifier}, which a browser cannot resolve"
        for path, _, specifier, _ in _imports(sources)
        if not specifier.startswith(("./", "../")) or not specifier.endswith((".js", ".mjs"))
    ]


def imported_javascript_exists(sources: Sources) -> list[str]:
    return [
        f"{path}: imports {specifier}, which does not exist"
        for path, _, specifier, target in _imports(sources)
        if target is not None and target != "vendor" and _resolved(path, specifier) not in sources
    ]


def javascript_evaluates_no_text(sources: Sources) -> list[str]:
    return [
        f"{path}: {found.group()} turns text into code or markup"
        for path, text in sources.items()
        if path.startswith(JS)
        for found in EVALUATION.finditer(text)
    ]


def templates_hold_no_inline_code(sources: Sources) -> list[str]:
    return [
        f"{path}: {what}, which the content security policy refuses"
        for path, text in sources.items()
        if path.endswith(".html")
        for pattern, what in INLINE
        if pattern.search(TEMPLATE_TAG.sub("", text))
    ]


def _imports(sources: Sources) -> Iterator[tuple[str, str, str, str | None]]:
    """Path, its folder, the specifier, and the folder below static/js it leads to."""
    for path, text in sources.items():
        if path.startswith(JS):
            for specifier in javascript_imports(text):
                yield path, _folder(path) or "", specifier, _folder(_resolved(path, specifier))


def _resolved(path: str, specifier: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), specifier)) if specifier.startswith(".") else ""


def _folder(path: str) -> str | None:
    return path.removeprefix(JS).partition("/")[0] if path.startswith(JS) else None


RULES: tuple[Rule, ...] = (
    javascript_imports_one_way,
    javascript_has_no_bare_imports,
    imported_javascript_exists,
    javascript_evaluates_no_text,
    templates_hold_no_inline_code,
)
