"""Bytes of bundle members in, columns of lake tables out. No Spark, no files of the lake."""
