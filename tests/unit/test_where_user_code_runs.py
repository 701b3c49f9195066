"""Invariants of absence around user code, tests and payloads, read off the source."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "kernel",
    "plugins",
    "stream_manager",
    "instances",
    "container",
    "cli",
    "planner",
    "operators",
    "stages",
)
ENGINE = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
PUBLIC = [
    path
    for path in sorted((ROOT / "heronpy").rglob("*.py"))
    if path.relative_to(ROOT / "heronpy").parts[0] not in (*FOLDERS, "testing")
]

#: what brings the user's classes into a process
IMPORTS_USER_CODE = re.compile(r"\b(import_user_module|resolve_class|find_class|load_auto_hooks)\b")
#: what makes objects of bytes by running whatever the bytes say
UNPICKLERS = {"pickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve", "copyreg"}
#: values of the user's on their way from one instance to another, or from the submitted file to an instance
MAY_UNPICKLE = {
    "instances/acking/awaiting.py",
    "instances/output/codec.py",
    "instances/task/build.py",
    "heronpy/config_values.py",
    "plugins/runner/spark/worker/rows.py",
    "stages/tasks/stage_task.py",  # only whether a state could be saved
    "heronpy/serializer.py",
}
#: what the processes without user code run
WITHOUT_USER_CODE = [
    "heronpy.kernel.master.main",
    "heronpy.stream_manager.main",
    "heronpy.container.metrics_manager.main",
    "heronpy.container.executor.main",
    "heronpy.container.scheduler.scheduler_host",
    *(
        f"heronpy.cli.verbs.{path.stem}"
        for path in sorted((ROOT / "cli/verbs").glob("*.py"))
        if path.stem
        in ("activate", "deactivate", "kill", "list", "logs", "restart", "status", "top", "update")
    ),
]
ASKS_WHETHER_IT_IS_TESTED = re.compile(r"heronpy\.testing|\bpytest\b|PYTEST|unittest")


def mentioning(pattern: re.Pattern[str], among: list[Path]) -> set[str]:
    return {str(path.relative_to(ROOT)) for path in among if pattern.search(path.read_text())}


def test_user_code_is_imported_by_instances_only() -> None:
    found = mentioning(IMPORTS_USER_CODE, ENGINE)
    assert "instances/process/task_lifecycle.py" in found
    assert {path for path in found if not path.startswith("instances/")} == set()


def test_production_does_not_ask_whether_it_is_being_tested() -> None:
    # it tells the author of a new plugin how to test it
    assert mentioning(ASKS_WHETHER_IT_IS_TESTED, [*ENGINE, *PUBLIC]) == {"cli/verbs/plugin.py"}


@pytest.mark.parametrize("way_in", ["unseal", "decode(payload", "loads(payload"])
def test_the_stream_manager_never_opens_a_payload(way_in: str) -> None:
    assert mentioning(re.compile(re.escape(way_in)), sorted((ROOT / "stream_manager").glob("*.py"))) == set()


def imported_by(path: Path) -> set[str]:
    """Top-level names of everything that a module imports, inside functions too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_only_instances_open_pickles() -> None:
    found = {str(path.relative_to(ROOT)) for path in [*ENGINE, *PUBLIC] if imported_by(path) & UNPICKLERS}
    assert found == MAY_UNPICKLE


def test_nobody_lets_a_socket_unpickle() -> None:
    assert mentioning(re.compile(r"\b(recv|send)_(pyobj|serialized)\b"), [*ENGINE, *PUBLIC]) == set()


def test_nobody_evaluates_text_or_asks_a_shell() -> None:
    """The loader runs the submitted file, in a process of its own: nothing else runs what it was given."""
    dangerous = re.compile(r"(?<![\w.])(eval|exec)\(|os\.(system|popen)\(|shell=True|yaml\.load\(")
    assert mentioning(dangerous, [*ENGINE, *PUBLIC]) == {"heronpy/loading/script.py"}


@pytest.mark.parametrize("module", WITHOUT_USER_CODE)
def test_who_does_not_run_user_code_has_not_even_loaded_what_could(module: str) -> None:
    code = f"import sys, {module}; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    could = {"heronpy.loading.user_module", "heronpy.loading.script", "heronpy.serializer", "cloudpickle"}
    could |= {path.removesuffix(".py").replace("/", ".") for path in MAY_UNPICKLE}
    could |= {f"heronpy.{name}" for name in could if name.startswith("instances.")}
    assert module in loaded.split()
    assert could.intersection(loaded.split()) == set()


def test_secret_keys_are_used_where_sockets_are_made_and_nowhere_else() -> None:
    uses = mentioning(re.compile(r"\.secret_key\b"), [*ENGINE, *PUBLIC])
    assert uses == {"kernel/transport/sockets.py"}
