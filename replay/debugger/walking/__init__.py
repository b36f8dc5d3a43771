"""Walks what needs no operator: the state machine over the recorded events, and a log by itself."""
