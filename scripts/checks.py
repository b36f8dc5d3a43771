"""Runs all checks side by side and sums them up; with arguments only pytest, with these. `./test` starts it."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from scripts.pytest_runs import ROOT, Pytest, once_more

# A developer's own settings must not lead tests to a real database.
PRODUCTION_SETTINGS = (
    "DATABASE_URL",
    "REDIS_URL",
    "SPARK_MASTER",
    "STORE_URI",
    "LAKE_URI",
    "SECRET_KEY",
    "ALLOWED_HOSTS",
)
# Where this is set, each of the hundreds of processes that the tests start compiles again all that it imports.
SLOWING = ("PYTHONDONTWRITEBYTECODE",)
BROWSER_TESTS = "tests/browser"
SLOWEST_NAMED = 12


@dataclass(slots=True)
class Check:
    name: str
    command: list[str]
    output: str = ""
    status: int | None = None
    duration_s: float = 0.0

    def run(self, environment: dict[str, str]) -> None:
        started = time.monotonic()
        done = subprocess.run(
            self.command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.finish(done.returncode, done.stdout, time.monotonic() - started)

    def finish(self, status: int, output: str, duration_s: float) -> None:
        self.status, self.output, self.duration_s = status, output, duration_s
        if status:
            print(f"\n--- {self.name} failed ---\n{output}", flush=True)

    @property
    def verdict(self) -> str:
        return "ok" if self.status == 0 else "FAILED"


def static_checks() -> list[Check]:
    python = sys.executable
    scripts = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests/js").rglob("*.test.*js"))
    return [
        Check("format", [python, "-m", "ruff", "format", "--check", "--quiet", "--diff", "."]),
        Check("lint", [python, "-m", "ruff", "check", "--quiet", "."]),
        Check("javascript", [node(), "--test", *scripts]),
        Check("migrations", [python, "manage.py", "makemigrations", "--check", "--dry-run"]),
        Check("types", [python, "-m", "mypy"]),
    ]


def node() -> str:
    """The machine's if it is 18 or newer, else the one that Playwright brings along."""
    program = shutil.which("node")
    if program is not None:
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
        if version.startswith("v") and int(version[1:].split(".")[0]) >= 18:
            return program
    import playwright

    return str(Path(playwright.__file__).parent / "driver" / "node")


def run_in_turn(checks: list[Check], environment: dict[str, str]) -> None:
    for check in checks:
        check.run(environment)


def workers() -> int:
    """One more than processors: tests that wait for a child leave theirs to another."""
    return min(os.cpu_count() or 1, 4) + 1


def side_by_side(processes: int, mark: str, *paths: str) -> list[str]:
    return ["-q", "-n", str(processes), "--dist", "loadfile", "--no-loadscope-reorder", "-m", mark, *paths]


def files_with(mark: str) -> list[str]:
    """Only these are collected: to find a few tests, each worker would import all others too."""
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(path.relative_to(ROOT)) for path in paths if f"pytest.mark.{mark}" in path.read_text()]


def everything(environment: dict[str, str], folder: Path) -> list[Check | Pytest]:
    checks = static_checks()
    beside = threading.Thread(target=run_in_turn, args=(checks, environment))
    beside.start()
    short = "not screenshots and not processes and not timed"
    # Tests in a browser wait more than they compute, and each of their workers has a server and a Spark of its own: so
    # they are few, and the processors go to the others meanwhile.
    pages = Pytest("pytest browser", side_by_side(2, short, BROWSER_TESTS), shown_at_the_end=True)
    in_browser = threading.Thread(target=pages.run, args=(environment, folder, False))
    in_browser.start()
    others = Pytest("pytest", side_by_side(workers(), short, f"--ignore={BROWSER_TESTS}"))
    others.run(environment, folder, none_is_good=False)
    in_browser.join()
    beside.join()
    whole = "processes and not screenshots"
    processes = Pytest("pytest processes", side_by_side(workers(), whole, *files_with("processes")))
    processes.run(environment, folder, none_is_good=True)
    timed = Pytest("pytest timed", ["-q", "-m", "timed and not screenshots", *files_with("timed")])
    timed.run(environment, folder, none_is_good=True)
    runs = [pages, others, processes, timed]
    return [*checks, *runs, *once_more(runs, environment, folder)]


def only_pytest(arguments: list[str], environment: dict[str, str], folder: Path) -> list[Check | Pytest]:
    chosen = Pytest("pytest", ["-m", "not screenshots", *arguments])
    chosen.run(environment, folder, none_is_good=False)
    return [chosen]


def screenshots(environment: dict[str, str], folder: Path) -> list[Check | Pytest]:
    pictures = Pytest("screenshots", ["-m", "screenshots", "tests/browser"])
    pictures.run(environment, folder, none_is_good=False)
    return [pictures]


def tree_state() -> str | None:
    """What git sees changed; None outside a checkout."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        return None
    command = ["git", "-c", f"safe.directory={ROOT}", "status", "--porcelain"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def changes_since(before: str | None) -> str:
    after = None if before is None else tree_state()
    if before is None or after is None:
        return ""
    return "\n".join(sorted(set(after.splitlines()) - set(before.splitlines())))


def summary(results: list[Check | Pytest], dirt: str, duration_s: float) -> int:
    print("\n=== Summary")
    for result in results:
        print(f"  {result.name:<18} {result.verdict:<22} {result.duration_s:6.1f} s")
    runs = [result for result in results if isinstance(result, Pytest)]
    taken = sorted(((taken_s, name) for run in runs for name, taken_s in run.taken_s.items()), reverse=True)
    if taken:
        print("  slowest: " + ", ".join(f"{name} {taken_s:.0f} s" for taken_s, name in taken[:SLOWEST_NAMED]))
    for name in (name for run in runs for name in run.unsteady):
        print(f"  failed beside others, passed alone: {name}")
    left_out = [name for run in runs for name in run.left_out]
    for name in left_out:
        print(f"  left out: {name}")
    if dirt:
        print(f"  The run left changes in the tree:\n{dirt}")
    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    bad = [result.name for result in results if result.status != 0]
    bad += ["clean tree"] if dirt else []
    bad += ["completeness"] if left_out and in_ci else []
    without = f", but {len(left_out)} tests were left out" if left_out else ""
    if bad:
        print(f"FAILED after {duration_s:.0f} s: {', '.join(bad)}{without}.")
        return 1
    print(f"All checks passed in {duration_s:.0f} s{without}.")
    return 0


def environment_of(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in (*PRODUCTION_SETTINGS, *SLOWING)}
    return kept | {"CLONOSCOPE_DATA": str(folder / "data"), "PYTHONUNBUFFERED": "1"}


def main(arguments: list[str]) -> int:
    started = time.monotonic()
    before = None if arguments else tree_state()
    with tempfile.TemporaryDirectory(prefix="clonoscope-checks-") as name:
        folder = Path(name)
        environment = environment_of(folder)
        if arguments[:1] == ["--screenshots"]:
            results = screenshots(environment, folder)
        elif arguments:
            results = only_pytest(arguments, environment, folder)
        else:
            results = everything(environment, folder)
    return summary(results, changes_since(before), time.monotonic() - started)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
