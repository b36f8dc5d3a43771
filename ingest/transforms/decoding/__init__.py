"""Determinants as columns: compiled scans, windows over members of any size, and what they were counted as."""
