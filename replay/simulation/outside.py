"""How the sinks of random worlds write, and what becomes of choices that nobody can return."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from replay.simulation.plan import Plan

SINKS = ("plain", "plain", "transactional", "idempotent", "determinant")


def to_the_outside(plan: Plan) -> Plan:
    """The plan with a kind of sink, drawn apart so that all else stays as it was drawn."""
    draw = Random(f"outside {plan.seed}")
    sink, on_lost = draw.choice(SINKS), draw.choice(("rollback", "rollback", "continue"))
    return replace(plan, protocol=replace(plan.protocol, sink=sink, on_lost=on_lost))
