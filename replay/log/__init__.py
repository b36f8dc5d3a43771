"""Determinants and what holds them: codec, thread logs, deltas, causal and in-flight logs."""
