"""What is left of Spark's traces when an ingest fails: one sentence that says what to do."""

import pytest

from ingest.jobs.ingest import why_of

TRACE = """An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times
Traceback (most recent call last):
  File "parts.py", line 1, in run_part
{error}

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)
"""


FULL = "OSError: [Errno 28] No space left on device"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (FULL, f"the disk is full ({FULL}). Make room, then retry."),
        ("MemoryError", "a task needs more memory than it may use. Record with smaller epochs, or raise the limit."),
        ("ValueError: odd", "ValueError: odd. The log has the whole story."),
    ],
)
def test_the_tasks_own_error_is_told(error: str, sentence: str):
    assert why_of(TRACE.format(error=error)) == sentence


CRASH = """Job aborted due to stage failure: Task 0 in stage 2.0 failed 4 times, most recent failure: Lost task 0.3
org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider setting something.
\tat org.apache.spark.api.python.PythonRunner$$anon$5.read(PythonRunner.scala:1632)
Caused by: java.io.EOFException
\t... 22 more
"""


def test_a_task_that_was_ended_for_want_of_memory_is_told_so():
    assert why_of(CRASH).startswith("a task needs more memory than it may use.")


def test_a_cause_without_words_is_told_by_its_name():
    assert why_of(CRASH.replace("crashed", "lost")) == "java.io.EOFException. The log has the whole story."


def test_without_any_error_the_last_line_is_told():
    assert why_of("something\nhappened") == "happened. The log has the whole story."
    assert why_of("") == "no reason was given. The log has the whole story."
