"""Questions to the lake, one per module; each gives typed rows."""
