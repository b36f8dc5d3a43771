"""What if: a replay that is forked at a step with a change, goes on from there, and is held against its parent."""

from replay.debugger.forks.changes import At, Change, chain_of, change_of
from replay.debugger.forks.fork import Forked, fork

__all__ = ["At", "Change", "Forked", "chain_of", "change_of", "fork"]
