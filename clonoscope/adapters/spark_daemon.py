"""The daemon that forks Spark's Python workers, with recording: for jobs whose code can't be touched.

`--conf spark.python.daemon.module=clonoscope.adapters.spark_daemon`, and what `start` takes as variables of the
executors: `--conf spark.executorEnv.CLONOSCOPE_NAME=orders`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from typing import Any

from clonoscope.adapters.spark import Settings, recorded, recorder
from clonoscope.errors import WrongUse
from clonoscope.redaction import KEY_VARIABLE

_log = logging.getLogger("clonoscope")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _answer(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError
    return text == "yes"


_PREFIX = "CLONOSCOPE_"
# The key itself has no variable: what is set for executors stands in command lines, and on Spark's pages.
VARIABLES: dict[str, Callable[[str], Any]] = {
    f"{_PREFIX}NAME": str,
    f"{_PREFIX}DIR": str,
    f"{_PREFIX}KEEP": int,
    f"{_PREFIX}MAX_MB": float,
    f"{_PREFIX}PAYLOAD": str,
    f"{_PREFIX}RETRY": str,
    f"{_PREFIX}REDACT": _names,
    f"{_PREFIX}ALLOW": _names,
    KEY_VARIABLE: str,
    f"{_PREFIX}INTERCEPT": _names,
    f"{_PREFIX}RESULTS": _answer,
}


_FORMS: dict[Callable[[str], Any], str] = {int: "a number", float: "a number", _answer: "yes or no"}


def settings_of(environment: Mapping[str, str]) -> Settings:
    """Each variable is an argument of `recorder`, with commas where that takes several. Raises `WrongUse`.

    Without `CLONOSCOPE_INTERCEPT`, all is recorded that is asked outside of the standard library.
    """
    chosen: dict[str, Any] = {"name": "spark", "intercept": True}
    for variable, read in VARIABLES.items():
        if text := environment.get(variable, ""):
            try:
                chosen[argument_of(variable)] = read(text)
            except ValueError:
                raise WrongUse(f"{variable} is {text!r}", remedy=f"It is {_FORMS[read]}") from None
    return recorder(**chosen).settings


def argument_of(variable: str) -> str:
    """Of `recorder`."""
    return "key" if variable == KEY_VARIABLE else variable.removeprefix(_PREFIX).lower()


def record_workers(settings: Settings) -> None:
    """Every worker that is forked from here records the functions that it is sent."""
    from pyspark import daemon

    # Here, and not in each worker: the code is looked up once.
    settings.recording()
    real = daemon.worker

    def worker(sock: Any, authenticated: bool) -> int:
        _record_commands(settings)
        return real(sock, authenticated)

    daemon.worker = worker


def _record_commands(settings: Settings) -> None:
    from pyspark import worker as spark_worker

    worker: Any = spark_worker
    real = worker.read_command
    if getattr(real, "records", False):
        return

    def read_command(*arguments: Any, **keywords: Any) -> Any:
        return _recorded(settings, real(*arguments, **keywords))

    read_command.records = True  # type: ignore[attr-defined]
    worker.read_command = read_command


def _recorded(settings: Settings, command: Any) -> Any:
    """A function comes with its type; what comes otherwise is Spark's own, around a function of an RDD."""
    if not isinstance(command, tuple) or len(command) != 2 or not callable(command[0]):
        return command
    function, kind = command
    owner: Any = getattr(function, "__self__", None)
    if hasattr(owner, "_stateful_processor"):
        owner._stateful_processor = recorded(settings, owner._stateful_processor)
        return command
    return recorded(settings, function), kind


def main() -> None:
    """As Spark's own. What is set wrongly is told once, and nothing is recorded then."""
    from pyspark import daemon

    try:
        record_workers(settings_of(os.environ))
    except WrongUse as fault:
        _log.error("Nothing is recorded: %s", fault)
    daemon.manager()


if __name__ == "__main__":
    main()
