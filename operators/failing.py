"""When the user's function raises: the run ends with one line, or the record is skipped or set aside."""

from __future__ import annotations

import contextlib
import operator
import reprlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import Source
from heronpy.loading.user_error import describe_user_error
from heronpy.operators.stamped import Stamped
from heronpy.pipeline.graph import EdgeKey, PartialOp, Site, Step
from heronpy.pipeline.records import Failed


class StepFailed(UserError):
    """The function of a step raised. Names the step, the user's line and the record."""

    placed = True

    def __init__(self, step: str, site: Site, error: Exception, about: str = "") -> None:
        failure = describe_user_error(error, Source(file=site.file))
        #: file and line where it was raised, or where the step was written if that is no Python code
        self.site = Site(failure.file, failure.line) if failure.file else site
        # what heronpy itself raises is said in its line
        self.step, self.traceback = step, "" if isinstance(error, UserError) else failure.traceback
        super().__init__(f"step {step!r} failed at {self.site}: {failure.message}{about}")


class Failing:
    """What a step does with records that its function raised for."""

    def __init__(self, step: Step | EdgeKey, aside: Callable[[list[Any]], None] | None = None) -> None:
        self.name = _written_name(step)
        self.site = step.site
        self.tolerant = isinstance(step, Step) and step.on_error != "fail"
        self._aside = aside
        #: records that were skipped or set aside
        self.failed = 0

    def on(self, error: Exception, record: object) -> StepFailed:
        """The error that ends the run."""
        if isinstance(record, Stamped):
            record = record.value
        return StepFailed(self.name, self.site, error, f", for the record {reprlib.repr(record)}")

    def within(self, error: Exception, records: Sequence[Any], source: Iterator[Any]) -> StepFailed:
        """… for the record that was last taken from the iterator over these records."""
        taken = len(records) - operator.length_hint(source)
        return self.on(error, records[taken - 1])

    def for_key(self, error: Exception, key: object) -> StepFailed:
        """… for a key: it cannot be one, or its state has no result."""
        return StepFailed(self.name, self.site, error, f", for the key {reprlib.repr(key)}")

    def leave(self, error: Exception, record: object) -> None:
        """Skip a record or set it aside."""
        self.failed += 1
        if self._aside is not None:
            failure = describe_user_error(error, Source(file=self.site.file))
            value = record.value if isinstance(record, Stamped) else record
            failed = Failed(value, self.name, failure.message, failure.traceback)
            self._aside([record._replace(value=failed) if isinstance(record, Stamped) else failed])


@contextlib.contextmanager
def blamed_on(step: Step) -> Iterator[None]:
    """What a source or sink raises, with its step and the line that it was written on."""
    try:
        yield
    except Exception as error:
        raise StepFailed(step.name, step.site, error) from error


def _written_name(step: Step | EdgeKey) -> str:
    """The name that the user knows."""
    if isinstance(step, EdgeKey):
        return step.step
    return step.op.of if isinstance(step.op, PartialOp) else step.name
