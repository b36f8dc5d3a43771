"""Sample jobs, and how they are recorded."""
