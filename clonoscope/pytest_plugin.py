"""A plugin for pytest: excerpts of recordings that lie among the tests are collected, and replayed as tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PATTERNS = "clonoscope_bundles"


def pytest_addoption(parser: Any) -> None:
    """The setting that says where excerpts lie."""
    parser.addini(
        PATTERNS, "patterns of the files that clonoscope's excerpts are kept in", type="args", default=["*.zip"]
    )


def pytest_collect_file(file_path: Path, parent: Any) -> Any:
    """A file is one by its name and by its manifest; whoever has none pays for a look at the name alone."""
    if not any(file_path.match(pattern) for pattern in parent.config.getini(PATTERNS)):
        return None
    from clonoscope.onsite.incident import is_incident

    if not is_incident(file_path):
        return None
    return _file_class().from_parent(parent, path=file_path)


_classes: list[Any] = []


def _file_class() -> Any:
    """Made when the first excerpt is met, as pytest is nobody's need but its own."""
    if not _classes:
        _classes.append(_made_classes())
    return _classes[0]


def _made_classes() -> Any:
    import pytest

    class Incident(pytest.Item):
        """One excerpt."""

        def runtest(self) -> None:
            from clonoscope.onsite.incident import judged

            root = str(self.config.rootpath)
            if root not in sys.path:
                sys.path.insert(0, root)
            found = judged(self.path)
            if not found.passed:
                raise StillWrong(found.sentence, found.detail)

        def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
            if isinstance(excinfo.value, StillWrong):
                return excinfo.value.told()
            return super().repr_failure(excinfo, style)

        def reportinfo(self) -> tuple[Path, int | None, str]:
            return self.path, None, f"excerpt {self.path.name}"

    class IncidentFile(pytest.File):
        """A file of one excerpt."""

        def collect(self) -> Iterator[pytest.Item]:
            yield Incident.from_parent(self, name="replay")

    return IncidentFile


class StillWrong(Exception):
    """The code goes wrong as it did."""

    def __init__(self, sentence: str, detail: dict[str, Any]):
        super().__init__(sentence)
        self.detail = detail

    def told(self) -> str:
        """For the report."""
        lines = [str(self)]
        line = self.detail.get("line")
        if isinstance(line, dict):
            lines.append(f"  {line['file']}:{line['line']} in {line['function']}: {line['text']}")
        for name, words in (("asked", "the replay makes"), ("logged", "the recording holds")):
            if name in self.detail:
                lines.append(f"  {words} {self.detail[name]}")
        return "\n".join(lines)
