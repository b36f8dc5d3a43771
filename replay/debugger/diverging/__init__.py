"""What a divergence is, where it lies and why it is likely to have come about."""
