"""What runs in child processes: the warm Spark driver, the ingest that it runs, and replays."""
