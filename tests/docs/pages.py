"""Reads the documentation's pages: their tables, sections, code words and links."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
CODE_WORD = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True, slots=True)
class Table:
    """A Markdown table and the heading it stands under."""

    section: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, name: str) -> list[str]:
        """Cells without their code marks."""
        index = self.header.index(name)
        return [bare(row[index]) for row in self.rows]


def bare(cell: str) -> str:
    return cell.strip().strip("`")


@cache
def page(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


@cache
def tables(name: str) -> tuple[Table, ...]:
    found, section, lines = [], "", [*page(name).splitlines(), ""]
    block: list[str] = []
    for line in lines:
        if line.startswith("|"):
            block.append(line)
            continue
        if block:
            header, _, *rows = (tuple(cell.strip() for cell in _cells(row)) for row in block)
            found.append(Table(section, header, tuple(rows)))
            block = []
        if line.startswith("#"):
            section = line.lstrip("#").strip()
    return tuple(found)


def _cells(row: str) -> list[str]:
    """A bar inside code marks, escaped for Markdown, belongs to its cell."""
    return [cell.replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def table(name: str, *header: str, section: str | None = None) -> Table:
    """The one table of a page with this header (and under this heading)."""
    found = [one for one in tables(name) if one.header == header and section in (None, one.section)]
    if len(found) != 1:
        raise LookupError(f"docs/{name} has {len(found)} tables with columns {', '.join(header)} under {section!r}")
    return found[0]


def sections(name: str, level: int = 2) -> dict[str, str]:
    """Text by heading of one level, up to the next heading of that level or above."""
    parts = re.split(rf"^(#{{1,{level}}}) (.+)$", page(name), flags=re.MULTILINE)
    return {
        bare(title): text
        for mark, title, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
        if len(mark) == level
    }


def code_words(text: str) -> set[str]:
    return set(CODE_WORD.findall(text))


def markdown_files() -> list[Path]:
    kept = (ROOT, DOCS, ROOT / "bench", ROOT / "tests")
    top = [path for folder in kept[:1] for path in folder.glob("*.md")]
    return sorted(top + [path for folder in kept[1:] for path in folder.rglob("*.md")])
