"""Invariants of absence around user code, tests and payloads, read off the source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("kernel", "plugins", "stream_manager", "instances", "container", "cli")
ENGINE = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
PUBLIC = [
    path
    for path in sorted((ROOT / "heronpy").rglob("*.py"))
    if path.relative_to(ROOT / "heronpy").parts[0] not in (*FOLDERS, "testing")
]

#: what brings the user's classes into a process
IMPORTS_USER_CODE = re.compile(r"\b(import_user_module|resolve_class|find_class|load_auto_hooks)\b")
ASKS_WHETHER_IT_IS_TESTED = re.compile(r"heronpy\.testing|\bpytest\b|PYTEST|unittest")


def mentioning(pattern: re.Pattern[str], among: list[Path]) -> set[str]:
    return {str(path.relative_to(ROOT)) for path in among if pattern.search(path.read_text())}


def test_user_code_is_imported_by_instances_only() -> None:
    found = mentioning(IMPORTS_USER_CODE, ENGINE)
    assert "instances/main.py" in found
    assert {path for path in found if not path.startswith("instances/")} == set()


def test_production_does_not_ask_whether_it_is_being_tested() -> None:
    assert mentioning(ASKS_WHETHER_IT_IS_TESTED, [*ENGINE, *PUBLIC]) == set()


@pytest.mark.parametrize("way_in", ["unseal", "decode(payload", "loads(payload"])
def test_the_stream_manager_never_opens_a_payload(way_in: str) -> None:
    assert mentioning(re.compile(re.escape(way_in)), sorted((ROOT / "stream_manager").glob("*.py"))) == set()
