"""From bundle to lake: Spark tasks decode a recording and write it as Parquet; DuckDB reads it back. Never Django."""
