"""What it takes to record a job of an engine: three lines or fewer beside what the job does, as its samples show."""

import ast
from pathlib import Path

import pytest

from tests.clonoscope.engines import JOBS, ROOT

MOST = 3
SAMPLES = {
    "kafka": JOBS / "kafka_prices.py",
    "quix": JOBS / "quix_totals.py",
    "bytewax": JOBS / "bytewax_totals.py",
    "spark": ROOT / "docs" / "examples" / "orders.py",
}


def lines_of(path: Path, engine: str) -> list[str]:
    """Statements that the adapter alone needs."""
    module, entry = f"clonoscope.adapters.{engine}", "recorder" if engine == "spark" else "record"
    found = []
    for one in ast.walk(ast.parse(path.read_text())):
        if isinstance(one, ast.ImportFrom):
            is_its = one.module == module or (one.module, one.names[0].name) == ("clonoscope.adapters", engine)
        else:
            call = one.value if isinstance(one, ast.Assign | ast.Expr) else None
            is_its = isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == entry
        if is_its:
            found.append(ast.unparse(one))
    return found


@pytest.mark.parametrize("engine", SAMPLES)
def test_an_adapter_takes_a_line_to_import_and_one_to_record(engine: str) -> None:
    """Of Spark's functions each is wrapped besides: by a word where it is named, or a line above it."""
    found = lines_of(SAMPLES[engine], engine)
    assert len(found) == 2 < MOST, found
