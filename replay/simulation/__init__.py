"""Whole worlds drawn from a seed, run to their end, and checked: `python -m replay.simulation --worlds N --seed S`."""
