"""Mutated bundles in every container, given to the product as an upload gives them: `python -m bench.fuzz`."""
