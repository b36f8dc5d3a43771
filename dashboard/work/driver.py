"""The one warm Spark driver of this process, made when the first ingest asks for it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from ingest.launch import SparkDriver


class WarmDriver:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._driver: SparkDriver | None = None
        self._stopped = False

    def get(self) -> SparkDriver:
        from ingest.launch import SparkDriver

        with self._lock:
            if self._driver is None:
                log_path = settings.DATA / "logs" / "spark.log"
                log_path.parent.mkdir(parents=True, exist_ok=True)
                self._driver = SparkDriver(
                    settings.DATA, log_path, heap_mib=settings.SPARK_HEAP_MIB, idle_s=settings.SPARK_IDLE_S
                )
            return self._driver

    def stop(self) -> None:
        with self._lock:
            driver, self._driver = self._driver, None
        if driver is not None:
            driver.stop()
