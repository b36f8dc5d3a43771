"""The faults of Clonos' published code, by what it does; each of them is put back by a plant."""

ROWS = {
    "seed": "setting the seed of the random generator has no effect on its numbers",
    "order": "a choice directly followed by an interruption of the same record count is logged after it",
    "head": "an interruption at the head of a log never fires",
    "length": "the final check compares lengths, not bytes",
    "count": "answers are counted, not told apart",
    "longer": "the longer of two copies wins without a look at the shorter",
    "gap": "a gap in a delta loses the rest of the message",
    "epochs": "bytes of an epoch leak into the one before an empty epoch, and late bytes of an old one are dropped",
    "ignore": "replaying an ignore-checkpoint only queues it",
    "skip": "skip counts over a channel's lifetime while the epoch advances",
    "nobody": "when no holder survives it goes on nondeterministically, and a not-found is hidden behind a found",
    "relay": "a recovering task relays a request without its own copy",
    "signed": "a channel's index is a signed byte, and responses count logs in one byte",
    "sends": "sends that fail are let be, and unexpected events are dropped",
}
"""Every row of the table of faults; the first word names it among the plants."""
