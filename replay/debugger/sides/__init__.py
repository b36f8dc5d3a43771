"""Two executions held side by side: what each did, where they part, and what follows from that and what doesn't."""
