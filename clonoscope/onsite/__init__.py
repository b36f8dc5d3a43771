"""Replays a recorded attempt where its code is: the job's own function, fed and answered by the recording."""
