"""What is installed: lock files with hashes, lower bounds that are tried, a bill of materials."""

from __future__ import annotations

import importlib.metadata
import json
import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).parent.parent.parent
LOCKS = sorted((PROJECT / "requirements").glob("*.lock"))
PYPROJECT = tomllib.loads((PROJECT / "pyproject.toml").read_text())
EXTRAS: dict[str, list[str]] = PYPROJECT["project"]["optional-dependencies"]
ALWAYS: list[str] = PYPROJECT["project"]["dependencies"]
ALL = [*ALWAYS, *(line for lines in EXTRAS.values() for line in lines)]
HEAVY = ("spark", "yarn")
LIGHT = [line for extra, lines in EXTRAS.items() if extra not in HEAVY for line in lines]
SBOM: dict[str, Any] = runpy.run_path(str(PROJECT / "requirements" / "sbom.py"))


def requirements(lock: Path) -> list[str]:
    """Each requirement of a lock file with its hashes, on one line."""
    return lock.read_text().replace("\\\n", " ").splitlines()


def pins(name: str) -> dict[str, str]:
    found: dict[str, str] = SBOM["locked"]((PROJECT / "requirements" / name).read_text())
    return found


def group(name: str) -> list[str]:
    found: list[str] = []
    for line in PYPROJECT["dependency-groups"][name]:
        found += [line] if isinstance(line, str) else group(line["include-group"])
    return found


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_everything_in_a_lock_file_is_pinned_and_has_hashes_and_no_host(lock: Path) -> None:
    lines = requirements(lock)
    assert lines
    for line in lines:
        assert re.fullmatch(r"[\w.-]+==\S+( ; [^:#]+?)?(\s+--hash=sha256:[0-9a-f]{64})+", line), line
    assert "://" not in lock.read_text()


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("ci.lock", ALL + group("dev")),
        ("lint.lock", group("lint")),
        ("lowest.lock", ALWAYS + LIGHT + group("test")),
        ("lowest-spark.lock", ALL + group("test")),
    ],
)
def test_a_lock_file_has_what_pyproject_asks_for(lock: str, wanted: list[str]) -> None:
    found = pins(lock)
    unmet = [
        line
        for line in wanted
        if not (need := Requirement(line)).specifier.contains(
            found.get(str(canonicalize_name(need.name)), "0")
        )
    ]
    assert unmet == [], "try: make lock"


def test_the_lock_files_agree_on_the_linter() -> None:
    assert pins("lint.lock").items() <= pins("ci.lock").items()


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("lowest.lock", ALWAYS + LIGHT),
        # what Spark needs besides, gRPC for one, may ask for more of ours than we do
        ("lowest-spark.lock", [line for extra in HEAVY for line in EXTRAS[extra]]),
    ],
)
def test_the_lowest_versions_are_those_that_pyproject_declares(lock: str, wanted: list[str]) -> None:
    found = pins(lock)
    for line in wanted:
        need = Requirement(line)
        bound = next(each.version for each in need.specifier if each.operator == ">=")
        assert found[str(canonicalize_name(need.name))].startswith(bound), "try: make lock"


def test_a_plain_install_brings_no_spark() -> None:
    assert not [line for line in ALWAYS if "spark" in line or "arrow" in line]
    assert "pyspark" not in pins("lowest.lock")


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if importlib.metadata.version("rich") != pins("ci.lock")["rich"]:
        pytest.skip("the versions that are installed are not those of ci.lock")
    wheel = tmp_path_factory.mktemp("dist") / "heron_py-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    made: dict[str, Any] = SBOM["bill"]("heron-py", pins("ci.lock"), wheel)
    assert made == SBOM["bill"]("heron-py", pins("ci.lock"), wheel), "the same wheel has the same bill"
    return json.loads(json.dumps(made))  # type: ignore[no-any-return]


def test_the_bill_has_what_cyclonedx_requires(bill: dict[str, Any]) -> None:
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", bill["serialNumber"])
    everything = [bill["metadata"]["component"], *bill["components"]]
    for component in everything:
        assert component["type"] == "library"
        assert (
            component["purl"]
            == component["bom-ref"]
            == f"pkg:pypi/{component['name']}@{component['version']}"
        )
        for licence in component.get("licenses", []):
            assert licence.keys() == {"expression"} or licence["license"].keys() == {"name"}
    references = [component["bom-ref"] for component in everything]
    assert len(set(references)) == len(references)
    assert [line["ref"] for line in bill["dependencies"]] == references
    for line in bill["dependencies"]:
        assert set(line["dependsOn"]) <= set(references)
    (checksum,) = bill["metadata"]["component"]["hashes"]
    assert checksum["alg"] == "SHA-256"
    assert re.fullmatch(r"[0-9a-f]{64}", checksum["content"])


def test_the_bill_names_what_is_always_needed_and_what_extras_need(bill: dict[str, Any]) -> None:
    scopes = {component["name"]: component["scope"] for component in bill["components"]}
    needed = {str(canonicalize_name(Requirement(line).name)) for line in ALWAYS}
    assert needed <= {name for name, scope in scopes.items() if scope == "required"}
    assert [scopes[name] for name in ("kazoo", "pyspark", "py4j")] == ["optional"] * 3
    assert not scopes.keys() & {"pytest", "mypy", "ruff"}, "tools are no part of it"
    versions = {component["name"]: component["version"] for component in bill["components"]}
    assert versions.items() <= pins("ci.lock").items()
