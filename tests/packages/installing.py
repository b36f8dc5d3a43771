"""Installs a package of operators into a folder, as `pip install --target` would: modules, and a dist-info beside."""

import shutil
import textwrap
from collections.abc import Iterable
from pathlib import Path

PACKAGES = Path(__file__).parent


def install(
    folder: Path, package: str, entry_points: Iterable[str], *, version: str = "1.0", name: str | None = None
) -> Path:
    """The folder, to be put on the path. `entry_points` are lines of its group, as `name = module:Class`."""
    if not (folder / package).exists():
        shutil.copytree(PACKAGES / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    described = folder / f"{name or package}-{version}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name or package}\nVersion: {version}\n")
    (described / "entry_points.txt").write_text("\n".join(["[clonoscope.operators]", *entry_points, ""]))
    (described / "INSTALLER").write_text("pip\n")
    (described / "RECORD").write_text("")
    return folder


def write_package(folder: Path, package: str, module: str) -> None:
    """A package of one module, `operators`, with that text."""
    (folder / package).mkdir(parents=True)
    (folder / package / "__init__.py").write_text("")
    (folder / package / "operators.py").write_text(textwrap.dedent(module))
