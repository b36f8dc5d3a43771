"""Forks Spark's Python workers with what every task needs already imported: a new worker starts in milliseconds."""

import pyspark.worker
from pyspark.daemon import manager

import ingest.jobs.cluster
import ingest.jobs.parts

PRELOADED = (ingest.jobs.cluster, ingest.jobs.parts, pyspark.worker)

if __name__ == "__main__":
    manager()
