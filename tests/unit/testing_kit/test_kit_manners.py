"""The kit keeps to itself: what it imports, what it starts, and the examples in its docstrings."""

from __future__ import annotations

import doctest
import subprocess
import sys
import textwrap
from types import ModuleType

import pytest

import heronpy.testing
from heronpy.testing import clock, run


@pytest.mark.parametrize("module", [clock, run], ids=lambda module: module.__name__)
def test_the_examples_in_docstrings_are_right(module: ModuleType) -> None:
    outcome = doctest.testmod(module)
    assert outcome.attempted
    assert not outcome.failed


def test_a_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'TopologyTset'"):
        heronpy.testing.TopologyTset  # noqa: B018


def test_a_run_needs_no_sockets_no_threads_and_no_pytest() -> None:
    script = """
        import sys, threading
        import heronpy.testing
        assert "heronpy.instances" not in sys.modules
        from heronpy.demo_topology import Demo
        run = heronpy.testing.TopologyTest(Demo)
        run.feed("words", [["heron"], ["heron"]])
        run.run()
        assert run.emitted("count") == [["heron", 1], ["heron", 2]]
        assert not {"zmq", "pytest"} & set(sys.modules), "imported what it does not need"
        assert threading.active_count() == 1
    """
    outcome = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False
    )
    assert outcome.stderr == ""
    assert outcome.returncode == 0
