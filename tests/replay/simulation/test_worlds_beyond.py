"""More random worlds, in a file of their own so that another process runs them beside the first."""

from __future__ import annotations

import pytest

from tests.replay.simulation.blocks import BLOCK, run_block

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("first", range(1200, 1600, BLOCK))
def test_random_worlds_hold_what_is_promised(first: int) -> None:
    run_block(first)
