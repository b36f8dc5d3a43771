"""The typed HTTP API under /api/: one module per subject, one shape of error."""
