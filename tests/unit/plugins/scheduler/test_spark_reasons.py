"""One line from what Spark says when a job fails; each text is as a real Spark 4.3 wrote it, shortened."""

from __future__ import annotations

import pytest

from heronpy.plugins.scheduler.spark.reasons import is_hopeless, reason

CALLING = "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
ABORTED = (
    f"{CALLING}: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0"
    " failed 1 times, most recent failure: Lost task 0.0 in stage 0.0 (TID 0) (10.78.1.2 executor 1): "
)
PYTHON = (
    f"{CALLING}: org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception was thrown from"
    " the Python worker: Traceback (most recent call last):\n"
    '  File "pyspark.zip/pyspark/worker.py", line 4327, in invoke_udf\n'
    "    run_process()\n"
    "OSError: [Errno 28] No space left on device\n"
    " SQLSTATE: 38000\n"
    "\tat org.apache.spark.api.python.BasePythonRunner.handlePythonException(PythonRunner.scala:1097)\n"
)
NO_PYTHON = 'Cannot run program "/nowhere/python": error=2, No such file or directory'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (PYTHON, "OSError: [Errno 28] No space left on device"),
        (
            f"{ABORTED}java.io.IOException: {NO_PYTHON}\n\tat java.base/java.lang.ProcessBuilder.start(P)",
            NO_PYTHON,
        ),
        (
            f"{ABORTED}ExecutorLostFailure (executor 1 exited) Reason: worker lost\nDriver stack:\n\tat o",
            "ExecutorLostFailure (executor 1 exited) Reason: worker lost",
        ),
        (f"{CALLING}: org.apache.spark.SparkException: Job 2 cancelled\n\tat org.apache", "Job 2 cancelled"),
        ("Answer from Java side is empty", "Answer from Java side is empty"),
        ("", "no reason given"),
    ],
)
def test_the_line_that_says_it_is_found(text: str, line: str) -> None:
    assert reason(text) == line


def test_a_python_that_the_workers_have_not_is_not_tried_again() -> None:
    assert is_hopeless(NO_PYTHON)
    assert is_hopeless(
        "PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12"
    )
    assert not is_hopeless('Cannot run program "python3": error=12, Cannot allocate memory')
    assert not is_hopeless("ExecutorLostFailure (executor 1 exited) Reason: worker lost")
