"""Which Java is chosen, and the shim in front of the packaged one."""

import subprocess
from pathlib import Path

import pytest

from ingest.java import Java, find_java, java_home, java_version


def java_at(folder: Path, version: str, *, release: bool = True) -> Path:
    """A home whose launcher says its version, as the real ones do, on standard error."""
    launcher = folder / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2021-09-14' >&2\n")
    launcher.chmod(0o755)
    if release:
        (folder / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n')
    return folder


@pytest.mark.parametrize(
    ("version", "feature"), [("17.0.15", 17), ("1.8.0_392", 8), ("25", 25), ("21-ea", 21), ("11.0.2", 11)]
)
@pytest.mark.parametrize("release", (True, False))
def test_the_feature_version_is_read_or_asked_for(version: str, feature: int, release: bool, tmp_path: Path):
    assert java_version(java_at(tmp_path / "java", version, release=release)) == feature


def test_java_home_comes_before_path_and_old_ones_are_passed_over(tmp_path: Path):
    old, new, newer = (java_at(tmp_path / v, v) for v in ("1.8.0", "17.0.1", "21.0.1"))
    path = str(newer / "bin")
    assert find_java({"JAVA_HOME": str(new), "PATH": path}) == Java(new, 17)
    assert find_java({"JAVA_HOME": str(old), "PATH": path}) == Java(newer, 21)
    assert find_java({"JAVA_HOME": str(tmp_path / "nothing"), "PATH": path}) == Java(newer, 21)


def test_without_any_the_packaged_one_serves_behind_its_shim(tmp_path: Path):
    java = find_java({"PATH": str(tmp_path)})
    assert java.packaged
    assert java.version >= 17
    home = java_home(java, tmp_path / "shims")
    asked = [
        home / "bin" / "java",
        "--add-modules=jdk.incubator.vector",
        "-Dwith.space=a b",
        "-XshowSettings:properties",
    ]
    said = subprocess.run([*asked, "-version"], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert "with.space = a b" in said.stderr
    assert java_home(java, tmp_path / "shims") == home


def test_a_java_of_the_machine_needs_no_shim(tmp_path: Path):
    java = Java(java_at(tmp_path / "java", "17.0.1"), 17)
    assert java_home(java, tmp_path / "shims") == java.home
    assert not (tmp_path / "shims").exists()
