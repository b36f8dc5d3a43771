"""Worlds of which it is known what is so, faults planted into what they recorded, and what an audit says of both."""
