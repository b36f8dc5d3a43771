"""Steps as they are written: their numbers, their words, and what changed with them."""
