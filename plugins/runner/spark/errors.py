"""The user's error on its way from a Python worker through Spark to the driver, in one line on arrival."""

from __future__ import annotations

import base64
import re

import msgspec

from heronpy.kernel.errors import UserError
from heronpy.plugins.scheduler.spark.reasons import reason

_MARK = re.compile(r"HERONPY\[([A-Za-z0-9+/=]+)\]")


class FailureInWorker(msgspec.Struct):
    """What a worker says of an error."""

    message: str
    traceback: str


class JobFailed(UserError):
    """A Spark job ended with an error, which is said as every other runner says it."""

    def __init__(self, failure: FailureInWorker) -> None:
        super().__init__(failure.message)
        self.traceback = failure.traceback


def marked(error: UserError) -> RuntimeError:
    """An error that Spark may wrap in as much text as it likes."""
    failure = FailureInWorker(str(error), error.traceback)
    return RuntimeError(f"HERONPY[{base64.b64encode(msgspec.json.encode(failure)).decode()}]")


def failure_of(error: BaseException) -> JobFailed:
    """What an error of a Spark job is about."""
    text = str(error)
    if found := _MARK.search(text):
        return JobFailed(msgspec.json.decode(base64.b64decode(found[1]), type=FailureInWorker))
    return JobFailed(FailureInWorker(f"the Spark job failed: {' '.join(reason(text).split())}", ""))
