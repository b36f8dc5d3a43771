"""Verdicts about a recording that are proofs: what it shows to hold, what it shows not to, and what it can't tell."""
