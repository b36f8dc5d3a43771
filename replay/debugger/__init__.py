"""The replay debugger: drives the recovery manager over a recording and writes down every step. See `replay.replay`."""
