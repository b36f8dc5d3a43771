"""`clonoscope`: looks at recordings, writes them as bundles, and replays them where their code is."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from clonoscope import __version__, leaving
from clonoscope.errors import WrongUse
from clonoscope.onsite import covering, minimising, replaying
from clonoscope.reading import attempts_of, processes_of, size_of
from replay.errors import ReplayError

GOOD, ERROR, WRONG_USE = 0, 1, 2


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    made = argparse.ArgumentParser(prog="clonoscope", description=__doc__)
    made.add_argument("--version", action="version", version=f"clonoscope {__version__}")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    dump = commands.add_parser("dump", help="write a recording as a bundle, to be uploaded")
    dump.add_argument("folder", type=Path, help="the recording's folder: the dir of start, and below it its name")
    leaving.add_dump_arguments(dump)
    dump.set_defaults(run=_dump)
    scan = commands.add_parser("scan", help="look for secrets in a bundle, before anybody else does")
    scan.add_argument("bundle", type=Path, help="the bundle")
    scan.set_defaults(run=leaving.look_through)
    decrypt = commands.add_parser("decrypt", help="make a bundle of what was encrypted")
    leaving.add_decrypt_arguments(decrypt)
    decrypt.set_defaults(run=leaving.decrypt)
    show = commands.add_parser("show", help="say what a recording holds: processes, tasks, attempts, gaps")
    show.add_argument("folder", type=Path, help="as for dump")
    show.set_defaults(run=_look)
    replay = commands.add_parser("replay", help="run the job's own function along a recording, here")
    replaying.add_arguments(replay)
    replay.set_defaults(run=replaying.run)
    minimise = commands.add_parser("minimise", help="keep the smallest excerpt that still goes wrong in the same way")
    minimising.add_arguments(minimise)
    minimise.set_defaults(run=minimising.run)
    coverage = commands.add_parser("coverage", help="run a job for a while, and list what it asks past the recorder")
    covering.add_arguments(coverage)
    coverage.set_defaults(run=covering.run)
    return made


def main(arguments: list[str] | None = None) -> int:
    """The exit status: 0 good, 1 an error, 2 wrong usage, 3 a verdict that is not good."""
    given = sys.argv[1:] if arguments is None else arguments
    # What stands behind -- is a job's own command line.
    at = given.index("--") if "--" in given else len(given)
    chosen = parser().parse_args(given[:at])
    chosen.job = given[at + 1 :]
    try:
        return int(chosen.run(chosen))
    except WrongUse as fault:
        print(f"clonoscope: {fault}", file=sys.stderr)
        return WRONG_USE
    except (ReplayError, OSError) as fault:
        print(f"clonoscope: {fault}", file=sys.stderr)
        return ERROR


def _dump(chosen: argparse.Namespace) -> int:
    return leaving.dump(_recording(chosen.folder), chosen)


def _look(chosen: argparse.Namespace) -> int:
    _show(_recording(chosen.folder))
    return GOOD


def _recording(folder: Path) -> Path:
    if (folder / "tasks").is_dir():
        return folder
    below = sorted(one.name for one in folder.iterdir() if (one / "tasks").is_dir()) if folder.is_dir() else []
    remedy = f"Below it are recordings: {', '.join(below)}" if below else "Name the dir of start, and below it its name"
    raise ReplayError("here is no recording", path=str(folder), remedy=remedy)


def _show(folder: Path) -> None:
    for one in processes_of(folder):
        state = "closed" if one.closed else "at work" if one.alive else "ended without closing its recording"
        print(f"process {one.described.get('pid')} on {one.described.get('host')}: {state}")
    for log in attempts_of(folder):
        counts: Counter[str] = Counter()
        epochs, gaps = [], []
        for entry in log.entries():
            counts[entry.kind] += 1
            if entry.kind == "epoch":
                epochs.append(entry.epoch)
            elif entry.kind == "gap":
                gaps.append(f"  gap in epoch {entry.epoch}: {entry.fields['why']}")
        of_epochs = f"epochs {epochs[0]} to {epochs[-1]}" if epochs else "no epochs"
        print(
            f"{log.task} attempt {log.attempt}: {of_epochs}, {counts['call']} answers, {counts['output']} outputs, "
            f"{size_of(log.folder)} bytes of segments"
        )
        print(*gaps, sep="\n", end="\n" if gaps else "")


if __name__ == "__main__":
    sys.exit(main())
