"""Names that lead elsewhere, and members that are no files: the bundle is refused whole."""

import io
import os
import tarfile
import zipfile

import pytest

from replay.bundle.reader import open_bundle
from replay.errors import BundleError
from tests.replay.bundle.made import members, packed, tar_bytes, tar_of, write, zip_bytes

NAMES = {
    "/etc/passwd": "absolute",
    "../escape": "..",
    "tasks/../../escape": "..",
    "a\\b": "backslash",
    "C:/windows": "drive",
    "a//b": "empty part",
    "a/./b": "empty part",
    "line\nbreak": "control characters",
    "x" * 2000: "longer than",
}


@pytest.mark.parametrize(("name", "rule"), NAMES.items(), ids=list(NAMES.values()))
def test_a_name_that_leads_elsewhere_is_refused(refused, name, rule):
    content = {**members(), name: b"x"}
    for kind, data in (("tar", tar_bytes(content)), ("zip", zip_bytes(content))):
        assert rule in refused(data), kind
        assert rule in refused(packed("tar.gz", tar_bytes(content)))


def test_a_name_with_a_nul_is_refused(refused):
    data = zip_bytes({**members(), "nulXname": b""}).replace(b"nulXname", b"nul\0name")
    assert "control characters" in refused(data)


def test_names_that_are_not_utf8_are_refused(refused):
    placeholder = "notes/NAME"
    for raw in (b"notes/\xff\xfe\xfa\xfb", b"notes/\xed\xa0\x80x", b"notes/\xc0\xafxx"):
        data = zip_bytes({**members(), placeholder: b""}).replace(placeholder.encode(), raw)
        assert "not UTF-8" in refused(data)
        info = tarfile.TarInfo(os.fsdecode(raw))
        assert "not UTF-8" in refused(tar_of(info))


def test_two_members_of_one_name_are_refused(refused):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members().items():
            archive.writestr(name, data)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("events.ndjson", b"")
    assert "two members have this name" in refused(file.getvalue())
    twice = [(tarfile.TarInfo("events.ndjson"), b""), (tarfile.TarInfo("./events.ndjson"), b"")]
    assert "two members have this name" in refused(tar_of(*twice))


def test_names_are_told_apart_by_their_exact_bytes(tmp_path):
    # One composed, one decomposed: the same to the eye, and to some file systems.
    content = {**members(), "notes/\u00fc": b"1", "notes/u\u0308": b"2", "notes/\u00dc": b"3"}
    for kind in ("zip", "tar"):
        with open_bundle(write(kind, tmp_path / f"b.{kind}", content)) as bundle:
            assert {name: bundle.members.read(name) for name in bundle.members.names()} == content


@pytest.mark.parametrize("names", [("notes", "notes/x"), ("notes/x", "notes"), ("a/b/c", "a/b"), ("a/b", "a/b/c/d")])
def test_a_name_that_is_a_file_and_a_folder_is_refused(refused, names):
    content = dict.fromkeys(names, b"")
    assert "is a file here and a folder elsewhere" in refused(tar_bytes(content))
    assert "is a file here and a folder elsewhere" in refused(zip_bytes(content))


def test_a_folder_entry_beside_a_file_of_its_name_is_refused(refused):
    folder = tarfile.TarInfo("notes")
    folder.type = tarfile.DIRTYPE
    assert "a folder here and a file elsewhere" in refused(tar_of((tarfile.TarInfo("notes"), b""), folder))
    assert "a folder elsewhere" in refused(tar_of(folder, (tarfile.TarInfo("notes"), b"")))


def test_links_and_devices_in_a_directory_are_refused(tmp_path):
    folder = write("dir", tmp_path / "b", members())
    (folder / "link").symlink_to("/etc/passwd")
    with pytest.raises(BundleError, match="is a link"):
        open_bundle(folder)
    (folder / "link").unlink()
    (folder / "folder-link").symlink_to(tmp_path)
    with pytest.raises(BundleError, match="is a link"):
        open_bundle(folder)
    (folder / "folder-link").unlink()
    os.mkfifo(folder / "pipe")
    with pytest.raises(BundleError, match="neither a file nor a folder"):
        open_bundle(folder)
    (folder / "pipe").unlink()
    with open(os.fsencode(folder) + b"/\xff", "wb"):
        pass
    with pytest.raises(BundleError, match="not UTF-8"):
        open_bundle(folder)


def test_a_member_that_became_a_link_after_the_walk_is_refused(tmp_path):
    folder = write("dir", tmp_path / "b", members())
    with open_bundle(folder) as bundle:
        (folder / "events.ndjson").unlink()
        (folder / "events.ndjson").symlink_to("/etc/passwd")
        with pytest.raises(BundleError, match="cannot be opened"):
            list(bundle.events())
