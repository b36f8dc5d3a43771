"""Hunting unlogged nondeterminism: what an operator reads that no determinant covers, and what moves its outputs."""
