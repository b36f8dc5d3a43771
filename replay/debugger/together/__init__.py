"""Several recoveries in one replay: which belong together, whose turn it is, and what they tell one another."""
