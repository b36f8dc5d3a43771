"""One question in SQL, in a child process of its own: the request on standard input, a page of the answer on standard
output, or all of it in a file. What is asked is a stranger's: the process has limits, and lives for this one question.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

from ingest.jobs.answering import answer
from ingest.jobs.lifeline import Command
from ingest.lake.askable import Asked
from ingest.lake.asking import Asking
from ingest.lake.downloads import write_answer
from ingest.lake.errors import QueryTooLarge, QueryTooLong, QuestionRefused

MEMORY_MIB = 512
THREADS = 2


def run(request: Command) -> dict[str, Any]:
    """{page}, {rows} where a file was written, {refused} with a sentence, or {gone} where a table was replaced."""
    tables = [Asked(one["schema"], one["name"], tuple(one["files"])) for one in request["tables"]]
    try:
        asking = Asking(tables, sealed=request["sealed"], memory_mib=MEMORY_MIB, threads=THREADS)
        if "out" in request:
            return {"rows": write_answer(asking, request["sql"], request["out"], request["format"])}
        return {"page": asdict(asking.page(request["sql"], **request["which"]))}
    except (QuestionRefused, QueryTooLarge, QueryTooLong) as refused:
        return {"refused": str(refused)}
    except FileNotFoundError:
        return {"gone": True}


def main() -> int:
    return answer("the question", run, remedy="Ask for less at once.")


if __name__ == "__main__":
    sys.exit(main())
