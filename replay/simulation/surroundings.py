"""What a world runs under and on: its protocol, its hosts, its checkpoint policy, and what those cost."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from replay.simulation.plan import Plan
from replay.simulation.settings import checkpoint_us, further_costs, random_name, random_policy, under
from replay.simulation.site import random_site
from replay.simulation.workloads import PassingThrough


def surrounded(plan: Plan) -> Plan:
    """The plan with all of that, drawn apart so that all else stays as it was drawn."""
    draw = Random(f"surroundings {plan.seed}")
    protocol = under(random_name(draw, one_for_one=plan.job == PassingThrough.name), plan.protocol)
    plan = replace(plan, protocol=protocol, costs=further_costs(draw, plan.costs))
    usual_us = checkpoint_us(plan.costs, len(plan.vertices))
    policy = random_policy(draw, protocol.checkpoint_interval_ms or 1000, usual_us)
    return replace(plan, site=random_site(draw, plan.manifest()), checkpoints=policy)
