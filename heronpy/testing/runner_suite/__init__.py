"""The cases that every runner carries alike, put into one pipeline; heronpy.testing.contracts.runner runs it.

A case is a function in one of the modules `*_cases.py`; those that are about the user's file are in
`user_files.py`. Begin with case.py.
"""

from __future__ import annotations

from heronpy.testing.runner_suite import (
    join_cases,
    key_cases,
    nexmark_cases,
    record_cases,
    sink_cases,
    window_cases,
)
from heronpy.testing.runner_suite.case import Case, CaseSteps, SuiteRun
from heronpy.testing.runner_suite.suite_pipeline import SuitePipeline
from heronpy.testing.runner_suite.user_files import OWN_CASES

__all__ = ["CASES", "Case", "CaseSteps", "SuitePipeline", "SuiteRun"]

#: by name
CASES: dict[str, Case] = {
    case.name: case
    for cases in (
        *(
            m.book.cases
            for m in (record_cases, key_cases, join_cases, nexmark_cases, window_cases, sink_cases)
        ),
        OWN_CASES,
    )
    for case in cases
}
