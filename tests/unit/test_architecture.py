"""The invariants of the architecture, read off the source: mostly what must be absent."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from grpc_tools import protoc  # type: ignore[import-untyped]
from support.suite.wall_clock import MODULE, wall_clock_reads

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
GENERATED = {ROOT / "kernel/protocol/control_pb2.py"}
API = [
    path
    for path in sorted((ROOT / "heronpy").rglob("*.py"))
    if path.relative_to(ROOT / "heronpy").parts[0] not in FOLDERS
]
MODULES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))] + API

#: what decides and does no I/O; Stream Managers, instances and the master carry their decisions out
DECISIONS = [
    *sorted((ROOT / "kernel/flow").glob("*.py")),
    *sorted((ROOT / "kernel/tables").glob("*.py")),
    ROOT / "kernel/state_transfer.py",
    ROOT / "kernel/names.py",
    ROOT / "kernel/status.py",
    ROOT / "kernel/liveness/silence.py",
    ROOT / "kernel/tree/paths.py",
    *sorted((ROOT / "kernel/plans").glob("*.py")),
    *(path for path in sorted((ROOT / "kernel/checkpoints").glob("*.py")) if path.stem != "demand"),
    *sorted((ROOT / "kernel/master/knowledge").glob("*.py")),
    *sorted((ROOT / "kernel/master").glob("*/decide.py")),
    ROOT / "stream_manager/residents.py",
    ROOT / "stream_manager/inbound.py",
    ROOT / "container/restart_policy.py",
    *sorted((ROOT / "plugins/packing").glob("*.py")),
    *sorted((ROOT / "instances/output/groupings").glob("*.py")),
    *(ROOT / "instances/acking" / name for name in ("anchored.py", "roots.py", "ack_codec.py")),
    *sorted((ROOT / "planner").glob("*.py")),
    *sorted((ROOT / "operators").rglob("*.py")),
    *(path for path in sorted((ROOT / "heronpy/pipeline").glob("*.py")) if path.stem not in ("sinks",)),
    ROOT / "instances/task/pace.py",
    ROOT / "instances/task/schedule.py",
    *(
        path
        for path in sorted((ROOT / "instances/saving/state").glob("*.py"))
        if path.stem != "object_writer"
    ),
]
IO = {
    "asyncio",
    "logging",
    "multiprocessing",
    "os",
    "pathlib",
    "psutil",
    "select",
    "shutil",
    "signal",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "zmq",
}

#: what starts servers, or processes of the engine: for tests/integration only
SERVER_FIXTURES = {
    "engine",
    "ensemble_of_the_run",
    "network",
    "reachable_zookeeper",
    "spark_cluster",
    "spark_cluster_of_the_run",
    "yarn_cluster",
    "yarn_cluster_of_the_run",
    "zookeeper",
}
SERVER_MODULES = {
    "support.running.engine",
    "support.clusters.reachable",
    "support.clusters.servers",
    "support.clusters.spark_application",
    "support.clusters.spark_cluster",
    "support.clusters.spark_session",
    "support.clusters.yarn_cluster",
    "support.clusters.zookeeper",
}
SERVER_MARKS = {"pytest.mark.cluster", "pytest.mark.slow", "pytest.mark.soak"}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@functools.cache
def imports(path: Path, *, typing_too: bool = False) -> tuple[str, ...]:
    """Every module that is imported, at whatever depth; those for the type checker only when asked."""
    return tuple(_imports(path, typing_too))


def _imports(path: Path, typing_too: bool) -> Iterator[str]:
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name(path)}:{node.lineno}: relative import"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not typing_too:
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)


def importers(of: str, among: list[Path], *, typing_too: bool = False) -> list[str]:
    """Those who import a module or anything below it."""
    return [
        name(path)
        for path in among
        if any(found == of or found.startswith(f"{of}.") for found in imports(path, typing_too=typing_too))
    ]


def under(*folders: str) -> list[Path]:
    return [path for path in MODULES if name(path).startswith(tuple(f"{folder}/" for folder in folders))]


def test_there_is_something_to_check() -> None:
    assert len(MODULES) > 100
    assert all(path.exists() for path in DECISIONS)


@pytest.mark.parametrize("other", ["plugins", "cli", "container", "instances", "stream_manager"])
def test_the_kernel_imports_nobody(other: str) -> None:
    assert importers(f"heronpy.{other}", under("kernel")) == []


#: what runs, and what a pipeline is written, planned and calculated without
ENGINE = ["cli", "container", "instances", "plugins", "stream_manager"]


@pytest.mark.parametrize(
    ("folder", "others"),
    [
        ("instances", ["cli", "container", "plugins", "stream_manager"]),
        ("stream_manager", ["cli", "container", "plugins", "instances"]),
        ("container", ["cli", "plugins"]),
        ("plugins", ["cli", "instances", "stream_manager"]),
        ("planner", [*ENGINE, "operators"]),
        ("operators", [*ENGINE, "planner"]),
        ("heronpy/pipeline", [*ENGINE, "planner", "operators"]),
    ],
)
def test_each_folder_knows_only_those_below_it(folder: str, others: list[str]) -> None:
    assert [importer for other in others for importer in importers(f"heronpy.{other}", under(folder))] == []


#: the rooms of instances/, each of which may import those before it
ROOMS_OF_AN_INSTANCE = ("execution", "acking", "input", "output", "poison", "saving", "task", "process")


@pytest.mark.parametrize("room", ROOMS_OF_AN_INSTANCE)
def test_the_rooms_of_an_instance_import_in_one_direction(room: str) -> None:
    later = ROOMS_OF_AN_INSTANCE[ROOMS_OF_AN_INSTANCE.index(room) + 1 :]
    found = {other: importers(f"heronpy.instances.{other}", under(f"instances/{room}")) for other in later}
    assert found == {other: [] for other in later}


def test_what_lies_beside_the_rooms_of_an_instance_imports_none_of_them() -> None:
    beside = [path for path in under("instances") if path.parent.name == "instances" and path.stem != "main"]
    found = [importers(f"heronpy.instances.{room}", beside) for room in ROOMS_OF_AN_INSTANCE]
    assert found == [[] for _ in ROOMS_OF_AN_INSTANCE]


def test_only_the_transport_imports_zmq() -> None:
    found = importers("zmq", MODULES, typing_too=True)
    assert found
    assert [path for path in found if not path.startswith("kernel/transport/")] == []


@pytest.mark.parametrize("path", DECISIONS, ids=name)
def test_decisions_do_no_io_and_have_no_clock(path: Path) -> None:
    assert {found.partition(".")[0] for found in imports(path)} & IO == set()


def test_every_use_of_the_wall_clock_is_argued() -> None:
    """A new one either wants the monotonic clock, or a row in docs/clocks.md that says why not."""
    used = {(name(path), place) for path in MODULES for place in wall_clock_reads(path.read_text())}
    cells = re.findall(r"^\| (`[^|]+`) \|", (ROOT / "docs/clocks.md").read_text(), re.MULTILINE)
    argued = [(module, place) for module, *places in map(_code, cells) for place in places]
    assert used - set(argued) == set()
    assert sorted(argued) == sorted(used)


def _code(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


@pytest.mark.parametrize(
    ("source", "places"),
    [
        ("import time\ndef age(): return time.time()", {"age"}),
        ("import time as t\nclass A:\n  def b(self): return t.time_ns()", {"A.b"}),
        ("from time import time as now\nSTARTED = now()", {MODULE}),
        ("import time\nclass A:\n  clock = staticmethod(time.time)", {"A"}),
        ("import time\nclass A:\n  clock = time", {"A"}),
        ("import time\ndef f(): return time.strftime('%H')", {"f"}),
        ("import time\ndef f(at): return time.strftime('%H', time.localtime(at))", set()),
        ("import time\ndef f(): return time.strftime('%H', time.localtime())", {"f"}),
        ("import datetime as dt\ndef f(): return dt.datetime.now(dt.UTC)", {"f"}),
        ("from datetime import datetime\ndef f():\n  return [datetime.utcnow() for _ in '']", {"f"}),
        ("from datetime import date\nasync def f(): return date.today()", {"f"}),
        ("import uuid\ndef f(): return uuid.uuid1()", {"f"}),
        ("import time\ndef f(clock): time.sleep(time.monotonic() - clock.time() - clock.now)", set()),
    ],
)
def test_uses_of_the_wall_clock_are_found_by_whatever_name(source: str, places: set[str]) -> None:
    assert wall_clock_reads(source) == places


@pytest.mark.parametrize("folder", FOLDERS)
def test_folders_are_imported_under_the_name_of_the_package_only(folder: str) -> None:
    assert importers(folder, MODULES, typing_too=True) == []


def test_importing_everything_leaves_no_bare_folder_behind() -> None:
    modules = sorted(
        ".".join(("heronpy", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        for path in under(*FOLDERS)
    )
    program = (
        "import importlib, sys\n"
        f"for module in {modules}: importlib.import_module(module)\n"
        f"print(sorted(set({FOLDERS}) & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_fits_into_a_head(path: Path) -> None:
    source = path.read_text()
    assert len(source.splitlines()) <= 500
    if source.strip() and path not in GENERATED:
        assert ast.get_docstring(ast.parse(source)), "says in one line what it is"


#: modules that mean the same wherever they are: the entry of a process, a decision and its execution, and
#: what every package of errors or plugins has
ROLE_NAMES = {"__init__", "act", "decide", "errors", "main"}
#: names that users see: a verb is a module of its own, a connector is called as its system, and a contract as
#: the interface it tests
NAMED_FOR_USERS = (
    "cli/verbs/",
    "heronpy/api/",
    "heronpy/connectors/",
    "heronpy/testing/",
    "heronpy/pipeline/",
    "heronpy/loading/",
    "heronpy/spark/",
    "heronpy/streamlet/",
    "plugins/",
)


def test_no_two_modules_share_a_name() -> None:
    found: dict[str, list[str]] = {}
    for path in MODULES:
        if path.stem not in ROLE_NAMES and not name(path).startswith(NAMED_FOR_USERS):
            found.setdefault(path.stem, []).append(name(path))
    assert {stem: paths for stem, paths in found.items() if len(paths) > 1} == {}


#: the names are Apache Heron's
APACHES = ("heronpy/api/", "heronpy/streamlet/")
#: what users import may be called like a class of the engine, and both demos have words that are counted
EXPORTED = {"Count", "Grouping", "Reader", "Source", "Stream", "Timer", "Words"}


def test_no_two_public_classes_share_a_name() -> None:
    found: dict[str, list[str]] = {}
    for path in MODULES:
        if path in GENERATED or name(path).startswith(APACHES):
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name not in EXPORTED:
                found.setdefault(node.name, []).append(name(path))
    assert {cls: paths for cls, paths in found.items() if len(paths) > 1} == {}


@pytest.mark.parametrize("folder", sorted({path.parent for path in MODULES}), ids=name)
def test_no_folder_is_a_heap(folder: Path) -> None:
    """`cli/verbs` has one module for each verb, the public package one for each thing that users import."""
    modules = [path for path in MODULES if path.parent == folder and path.stem != "__init__"]
    assert len(modules) <= 15 or name(folder) in ("cli/verbs", "heronpy")


def test_unit_tests_start_no_cluster() -> None:
    tests = sorted((ROOT / "tests/unit").rglob("*.py"))
    assert len(tests) > 100
    assert [(name(path), found) for path in tests if (found := uses_of_servers(path))] == []


def uses_of_servers(path: Path) -> set[str]:
    """Marks, fixtures and modules that belong into tests/integration."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    marks = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)} & SERVER_MARKS
    fixtures = {node.arg for node in nodes if isinstance(node, ast.arg)} & SERVER_FIXTURES
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return marks | fixtures | modules & SERVER_MODULES


def test_the_generated_code_is_of_the_definition(tmp_path: Path) -> None:
    """Whatever the version of the generator: only the line that it is stamped with may differ."""
    source = ROOT / "kernel/protocol"
    arguments = [f"-I{source}", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}"]
    assert protoc.main(["protoc", *arguments, str(source / "control.proto")]) == 0
    assert (tmp_path / "control_pb2.pyi").read_text() == (source / "control_pb2.pyi").read_text()
    assert serialized(tmp_path / "control_pb2.py") == serialized(source / "control_pb2.py")


def serialized(generated: Path) -> list[str]:
    return [line for line in generated.read_text().splitlines() if "AddSerializedFile" in line]


def test_the_generated_code_runs_with_the_oldest_protobuf_we_ask_for() -> None:
    assert '"protobuf>=6.31.1,<8"' in (ROOT / "pyproject.toml").read_text()
    assert "# Protobuf Python Version: 6.31.1\n" in (ROOT / "kernel/protocol/control_pb2.py").read_text()
