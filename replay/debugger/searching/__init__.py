"""What to look for among the steps of a replay: conditions, the small language that says them, and the same as JSON."""
