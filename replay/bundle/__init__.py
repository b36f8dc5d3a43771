"""Reading and writing causal log bundles, in whatever container they come."""
