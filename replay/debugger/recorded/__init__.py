"""What a recording says of a replayed attempt: its story, its logs, what it took and who answered it."""
