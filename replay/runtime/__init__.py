"""Tasks, channels, checkpoints and failures of a job in virtual time."""
