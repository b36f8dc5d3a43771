"""`pip install .` brings the recorder and what it stands on, and nothing else."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.clonoscope.jobs_on_site import PRICING, Site, run_pricing

ROOT = Path(__file__).resolve().parents[2]
IMPORTS = "import clonoscope, clonoscope.command, clonoscope.publishing, replay.bundle.reader, replay.debugger.replay"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, as building leaves its traces where it is done."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE", "requirements.in", "requirements-encryption.in"):
        shutil.copy(ROOT / name, source)
    for name in ("clonoscope", "replay", "ingest", "dashboard", "tests/packages"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    pip("wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", str(out), str(source))
    (made,) = out.glob("*.whl")
    return made


def pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check", *arguments]
    done = subprocess.run([*command, "--no-index"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("installed")
    pip("install", "--no-deps", "--target", str(target), str(wheel))
    return target


def test_the_wheel_holds_recorder_and_replay_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    wanted = {
        str(path.relative_to(ROOT))
        for package in ("clonoscope", "replay")
        for path in (ROOT / package).rglob("*")
        if path.suffix == ".py" or path.name == "py.typed"
    }
    assert names == wanted


def test_it_depends_on_nothing_and_the_server_is_an_extra(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [one for one in archive.namelist() if one.endswith("/METADATA")]
        metadata = archive.read(name).decode()
    needed = re.findall(r"^Requires-Dist: (.+)$", metadata, re.MULTILINE)
    extras = {"encryption": "requirements-encryption.in", "server": "requirements.in"}
    assert re.findall(r"^Provides-Extra: (.+)$", metadata, re.MULTILINE) == list(extras)
    assert [one for one in needed if "extra ==" not in one] == []
    for extra, file in extras.items():
        wanted = {
            re.split(r"[^\w-]", line)[0].lower()
            for line in (ROOT / file).read_text().splitlines()
            if line and not line.startswith("#")
        }
        found = {re.split(r"[^\w-]", one)[0].lower() for one in needed if f'extra == "{extra}"' in one}
        assert found == wanted


def test_what_is_installed_imports_the_standard_library_only(installed: Path) -> None:
    # -S: without site-packages; what is imported lies in the standard library or in the wheel.
    code = f"import sys; sys.path.insert(0, {str(installed)!r}); {IMPORTS}; print(clonoscope.__file__)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == installed / "clonoscope" / "__init__.py"


def test_the_command_is_installed(installed: Path) -> None:
    done = subprocess.run(
        [installed / "bin" / "clonoscope", "--version"],
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "clonoscope 0.1.0"), done.stderr


def test_the_plugin_for_pytest_is_found_by_itself(installed: Path, tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.write("pricing", PRICING)
    bundle = site.record("orders", run_pricing)
    site.write("pricing", PRICING.replace('"price": price', '"price": price + 1'))
    done = site.command("minimise", bundle, "--to", "incident.zip")
    assert done.returncode == 0, done
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "incident.zip"]
    # Of the tests around this one it knows nothing.
    around = ("PYTEST", "DJANGO")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(around)}
    environment["PYTHONPATH"] = str(installed)
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "1 failed" in done.stdout and "is another than the recording holds" in done.stdout, done.stdout + done.stderr
