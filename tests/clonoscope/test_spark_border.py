"""What passes between Spark and a function, in ways that Spark's planner seldom takes: recorded, and replayed."""

import gc
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import Row

from clonoscope import Recording, start
from clonoscope.adapters.spark_places import Place, task_of
from clonoscope.adapters.spark_work import Work
from clonoscope.publishing import publish
from tests.clonoscope.jobs_on_site import ROOT, Site
from tests.clonoscope.recorded import recording
from tests.clonoscope.replayed_here import replayed

PLACE = Place("query", "orders", "run", 0, 0)
CODE = {
    "pairs": """
        def function(pairs):
            for first, second in pairs:
                yield first + second
    """,
    "named": """
        def function(order, *, count):
            return [order, count]
    """,
    "sides": """
        def function(key, orders, limits):
            orders["most"] = limits["most"].max() if len(limits) else 0
            return orders
    """,
    "groups": """
        def function(key, rows):
            total = 0
            for row in rows:
                total += row.order * key[0]
            yield total
    """,
    "silent": """
        def function(order):
            seen = order
    """,
    "many": """
        import clonoscope

        def function(frames):
            for frame in frames:
                for n in range(3):
                    yield frame * n
                    clonoscope.random()
    """,
    "odd": """
        class Odd:
            pass

        def function(order):
            return Odd()
    """,
    "rows": """
        import clonoscope

        def function(order):
            return order + clonoscope.random()
    """,
}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def function_of(site: Site, name: str) -> Callable[..., Any]:
    """From its file, as a job has it."""
    site.write(name, CODE[name])
    found: dict[str, Any] = {"__name__": name}
    path = site.folder / f"{name}.py"
    exec(compile(path.read_text(), str(path), "exec"), found)  # noqa: S102 - a job's own code
    function: Callable[..., Any] = found["function"]
    return function


def recorded(site: Site, name: str, run: Callable[[Work, Callable[..., Any]], None], *, results: bool = True) -> Path:
    function = function_of(site, name)
    with recording(site.folder / "recorded", payload="full") as made:
        work = at_work(made, function, results=results)
        run(work, function)
        work.finish()
        return made.dump(site.folder / f"{name}.zip")


def at_work(made: Recording, function: Callable[..., Any], *, results: bool = True) -> Work:
    return Work(task_of(made, PLACE, function), PLACE, hashes=True, results=results)


def told(site: Site, bundle: Path) -> dict[str, Any]:
    return replayed(site.folder, bundle, "orders-function.0")


def pairs(work: Work, function: Callable[..., Any]) -> None:
    batches = [(pd.Series([n, n + 1]), pd.Series([1.5, None])) for n in range(3)]
    assert len(list(work.call(function, (iter(batches),), {}))) == 3


def sides(work: Work, function: Callable[..., Any]) -> None:
    """Groups of a cogroup, which may have no row on a side."""
    for orders, limits in ((2, 3), (1, 0), (0, 2), (2, 2)):
        frames = pd.DataFrame({"order": range(orders), "who": ["Zoë"] * orders}), pd.DataFrame({"most": range(limits)})
        work.call(function, ((7,), *frames), {})


def groups(work: Work, function: Callable[..., Any]) -> None:
    for key in (1, 2):
        list(work.call(function, ((key,), iter([Row(order=n, name="cup") for n in range(3)])), {}))


def named(work: Work, function: Callable[..., Any]) -> None:
    for n in range(3):
        assert work.call(function, (n,), {"count": n * 2}) == [n, n * 2]


def rows(work: Work, function: Callable[..., Any]) -> None:
    for n in range(4):
        work.call(function, (n,), {})


def left_early(work: Work, function: Callable[..., Any]) -> None:
    given = work.call(function, (iter([pd.Series([1]), pd.Series([2])]),), {})
    assert len([next(given), next(given)]) == 2
    given.close()


@pytest.mark.parametrize(
    ("name", "run", "results"),
    [
        ("pairs", pairs, 3),
        ("sides", sides, 4),
        ("groups", groups, 2),
        ("named", named, 3),
        ("rows", rows, 4),
        ("many", left_early, 2),
    ],
)
def test_what_passed_is_replayed(site: Site, name: str, run: Any, results: int) -> None:
    bundle = recorded(site, name, run)
    found = told(site, bundle)
    assert found["verdict"] == "identical" and f"again: {results} results, " in found["sentence"], found
    changed = (
        CODE[name].replace("first + second", "second").replace("count]", "count + 1]").replace("key[0]", "(key[0] + 1)")
    )
    changed = (
        changed.replace("max() if", "min() if")
        .replace("frame * n", "frame * (n + 1)")
        .replace("order + clono", "1 + order + clono")
    )
    assert changed != CODE[name]
    site.write(name, changed)
    found = told(site, bundle)
    assert found["verdict"] == "diverged" and found["detail"]["line"]["file"].endswith(f"{name}.py"), found


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ("order + clonoscope.random()", "neither the recording nor the replay has any output or state"),
        ("1 + order + clonoscope.random()", "neither the recording nor the replay has any output or state"),
        ("order + clonoscope.time()", "does not say of which types the function's arguments were"),
    ],
)
def test_without_results_nothing_is_called_identical(site: Site, after: str, said: str) -> None:
    bundle = recorded(site, "rows", rows, results=False)
    site.write("rows", CODE["rows"].replace("order + clonoscope.random()", after))
    found = told(site, bundle)
    assert found["verdict"] == "unknown" and said in found["sentence"], found


def test_an_incident_of_a_row_is_kept_and_replayed_as_a_test(site: Site) -> None:
    bundle = recorded(site, "rows", rows)
    wrong = CODE["rows"].replace("order + clono", "(order == 2) + order + clono")
    site.write("rows", wrong)
    done = site.command("minimise", bundle, "--task", "orders-function.0", "--to", "incident.zip")
    assert done.returncode == 0 and "1 record of 4" in done.stdout, done.stdout + done.stderr
    assert not judged_here(site) and "another than the recording holds" in done.stdout
    site.write("rows", CODE["rows"])
    assert judged_here(site)


def test_an_incident_of_a_call_is_kept_and_replayed_as_a_test(site: Site) -> None:
    """All that the call took stays with it, of both sides of a cogroup."""
    bundle = recorded(site, "sides", sides)
    wrong = CODE["sides"].replace("return orders", "return orders[:1] if len(limits) == 3 else orders")
    site.write("sides", wrong)
    done = site.command("minimise", bundle, "--task", "orders-function.0", "--to", "incident.zip")
    assert done.returncode == 0 and "5 records of 12" in done.stdout, done.stdout + done.stderr
    assert not judged_here(site)
    site.write("sides", CODE["sides"])
    assert judged_here(site)


def judged_here(site: Site) -> bool:
    script = "import sys, clonoscope.onsite.incident as one; sys.exit(not one.judged(one.Path('incident.zip')).passed)"
    surroundings = os.environ | {"PYTHONPATH": f"{ROOT}:{site.folder}"}
    return (
        subprocess.run([sys.executable, "-c", script], cwd=site.folder, env=surroundings, check=False).returncode == 0
    )


def test_the_debugger_opens_in_the_jobs_code_and_nowhere_else(site: Site) -> None:
    bundle = recorded(site, "pairs", pairs)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "clonoscope",
            "replay",
            str(bundle),
            "--task",
            "orders-function.0",
            "--at",
            "2",
            "--pdb",
        ],
        cwd=site.folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        input="p first.tolist()\nnext\ncontinue\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = done.stdout.split("(clonoscope) ")
    assert done.returncode == 0 and len(said) == 4, done.stdout + done.stderr
    assert "pairs.py(4)function()" in said[0] and said[1].startswith("[1, 2]"), done.stdout
    assert "pairs.py(3)function()" in said[2] and said[3].startswith("identical: "), done.stdout


def test_that_nothing_was_returned_again_is_no_proof(site: Site) -> None:
    found = told(site, recorded(site, "silent", rows))
    assert found["verdict"] == "unknown" and "has any output or state that could be compared" in found["sentence"], (
        found
    )
    site.write("silent", CODE["silent"].replace("seen = order", "return order"))
    found = told(site, site.folder / "silent.zip")
    assert found["verdict"] == "diverged", found


def test_two_generators_at_once_can_not_be_told_apart(site: Site) -> None:
    def run(work: Work, function: Callable[..., Any]) -> None:
        batches = [[(pd.Series([n]), pd.Series([n])) for n in range(2)] for _ in range(2)]
        both: list[Iterator[Any]] = [work.call(function, (iter(one),), {}) for one in batches]
        assert len(list(zip(*both, strict=True))) == 2

    found = told(site, recorded(site, "pairs", run))
    assert found["verdict"] == "unknown" and "two of its calls are at work" in found["sentence"], found


def test_a_result_that_nobody_knows_again_is_unknown(site: Site) -> None:
    found = told(site, recorded(site, "odd", rows))
    assert found["verdict"] == "unknown" and "of 4 results it can't be told" in found["sentence"], found


@pytest.mark.parametrize(("name", "results"), [("rows", 4), ("pairs", 1)])
def test_an_attempt_that_was_killed_is_followed_to_where_it_breaks_off(site: Site, name: str, results: int) -> None:
    function = function_of(site, name)
    child = os.fork()
    if child == 0:
        gc.disable()  # of what other threads of this process left
        work = at_work(start("orders", dir=site.folder / "recorded", payload="full"), function)
        if name == "rows":
            rows(work, function)
        else:
            next(work.call(function, (iter([(pd.Series([1]), pd.Series([2]))]),), {}))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    found = told(site, publish(site.folder / "recorded" / "orders", site.folder / "killed.zip"))
    assert found["verdict"] == "identical" and "up to where the recording breaks off" in found["sentence"], found
    assert f"again: {results} result" in found["sentence"], found


def test_an_end_that_is_recorded_must_come(site: Site) -> None:
    """A result that is not there, of an epoch that ended, is one that the function did not give."""
    bundle = recorded(site, "rows", rows)
    cut = site.folder / "cut.zip"
    with zipfile.ZipFile(bundle) as held, zipfile.ZipFile(cut, "w") as made:
        for name in held.namelist():
            data = held.read(name)
            made.writestr(name, b"\n".join(data.splitlines()[:-1]) + b"\n" if "/border/" in name else data)
    found = told(site, cut)
    assert found["verdict"] == "diverged" and "the recording does not hold" in found["sentence"], found
