"""From a diverging replay to the smallest recording that still diverges in the same way."""
