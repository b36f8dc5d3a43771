"""What other engines leave behind, written as bundles."""
