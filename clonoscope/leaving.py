"""The commands that a bundle passes on its way out: written, looked through for secrets, encrypted; and decrypted."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from clonoscope import encryption
from clonoscope.errors import WrongUse
from clonoscope.publishing import next_dump, publish
from clonoscope.scanning import Secret, scan
from replay.bundle.writer import refuse_taken, suffix_of

GOOD, NOT_GOOD = 0, 3
_SHOWN = 50


def add_dump_arguments(made: argparse.ArgumentParser) -> None:
    """Of `dump`, beside its folder."""
    made.add_argument(
        "--out", type=Path, help="the bundle; its suffix decides what it is: .zip, .tar, .tar.gz, none for a folder"
    )
    made.add_argument(
        "--encrypt-to", action="append", default=[], metavar="KEY", help="a public key, age1…, that may read it"
    )
    made.add_argument(
        "--bundle-key", type=Path, metavar="FILE", help="encrypt it with a key of its own, which is written here"
    )


def add_decrypt_arguments(made: argparse.ArgumentParser) -> None:
    """Of `decrypt`."""
    made.add_argument("bundle", type=Path, help="what ends in .age")
    made.add_argument("--out", type=Path, help="the bundle; without .age, where it is not given")
    made.add_argument("--identity", action="append", type=Path, default=[], metavar="FILE", help="with a secret key")
    made.add_argument("--bundle-key", type=Path, metavar="FILE", help="the key of this very bundle")


def dump(folder: Path, chosen: argparse.Namespace) -> int:
    """Writes a bundle and looks through it; what is found is told, and the status is 3."""
    out = chosen.out if chosen.out is not None else next_dump(folder)
    if not chosen.encrypt_to and chosen.bundle_key is None:
        written = publish(folder, out)
        found = scan(written, os.environ)
    else:
        plain = out.with_suffix("") if out.suffix == encryption.SUFFIX else out
        if not suffix_of(plain):
            raise WrongUse("a folder can't be encrypted", remedy="Name a container: --out orders.zip.age")
        target = plain.with_name(plain.name + encryption.SUFFIX)
        refuse_taken(target)
        with tempfile.TemporaryDirectory(prefix="clonoscope-") as apart:
            passing = publish(folder, Path(apart) / plain.name)
            found = scan(passing, os.environ)
            written = encryption.encrypt(passing, target, chosen.encrypt_to, bundle_key=chosen.bundle_key)
    print(written)
    return _told(found, written)


def look_through(chosen: argparse.Namespace) -> int:
    """`scan`."""
    return _told(scan(chosen.bundle, os.environ), chosen.bundle)


def _told(found: list[Secret], bundle: Path) -> int:
    """Where secrets are, and never what they are."""
    for one in found[:_SHOWN]:
        print(f"clonoscope: {one}", file=sys.stderr)
    if len(found) > _SHOWN:
        print(f"clonoscope: and {len(found) - _SHOWN:,} more", file=sys.stderr)
    if not found:
        return GOOD
    remedy = "Redact them (start: redact, allow) and record again, and let nobody have this bundle"
    print(f"clonoscope: {bundle} holds what looks like secrets, at {len(found):,} places. {remedy}.", file=sys.stderr)
    return NOT_GOOD


def decrypt(chosen: argparse.Namespace) -> int:
    """`decrypt`."""
    out = chosen.out
    if out is None:
        if chosen.bundle.suffix != encryption.SUFFIX:
            raise WrongUse(f"{chosen.bundle} does not end in {encryption.SUFFIX}", remedy="Say with --out where to")
        out = chosen.bundle.with_suffix("")
    refuse_taken(out)
    print(encryption.decrypt(chosen.bundle, out, chosen.identity, bundle_key=chosen.bundle_key))
    return GOOD
