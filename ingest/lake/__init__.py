"""The lake: table schemas, manifest, writers, publishing and readers. pyarrow and DuckDB; never Spark."""
