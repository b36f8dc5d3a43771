"""Executes an attempt again, along its log and beyond, and holds what comes against what was recorded."""
