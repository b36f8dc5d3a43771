"""A replay in several surroundings, each in a process of its own: what moves with them follows from no log."""
