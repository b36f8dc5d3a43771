"""Documentation is held to the code: what a page says is read and compared."""
