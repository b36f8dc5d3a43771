"""What the space-time diagram draws: lanes, marks of a window, fronts of barriers, causes and effects of a mark."""
