"""What the documents list is what there is: settings, hooks, interfaces, frames, messages, verbs, links."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import pytest

import heronpy
from heronpy.cli.main import VERBS
from heronpy.kernel.config import load_config
from heronpy.kernel.config.ranges import RANGES
from heronpy.kernel.config.topology_keys import HEEDED
from heronpy.kernel.flow import frame, peer_link
from heronpy.kernel.plugin import hookspecs
from heronpy.kernel.plugin.registry import KINDS
from heronpy.kernel.protocol import PROTOCOL_VERSION, Envelope
from heronpy.testing.contracts.scheduler import SchedulerContract
from heronpy.testing.contracts.state_manager import StateManagerContract
from heronpy.testing.contracts.uploader import UploaderContract

ROOT = Path(__file__).parent.parent.parent.parent
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.glob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
CONFIG = load_config("/dev/null", environ={})

#: where plugins.md describes a suite
HEADINGS = {
    "SchedulerContract": "Schedulers",
    "StateManagerContract": "State managers",
    "UploaderContract": "Uploaders",
}


def rows(page: str) -> list[list[str]]:
    """The cells of every table row."""
    lines = [line for line in (DOCS / page).read_text().splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("key", sorted(set(CONFIG) - {"home", "metrics.sinks"}))
def test_every_setting_is_documented_with_its_default(key: str) -> None:
    (row,) = (row for row in rows("configuration.md") if row[0] == f"`{key}`")
    shown = row[1].strip("`")
    again = load_config("/dev/null", environ={}, flags={key: shown})
    assert again[key] == CONFIG[key]


@pytest.mark.parametrize("key", RANGES)
def test_every_range_is_documented(key: str) -> None:
    (row,) = (row for row in rows("configuration.md") if row[0] == f"`{key}`")
    least, most = RANGES[key]
    assert row[2] == f"`{least}` to `{most}`"


def test_no_setting_is_documented_that_does_not_exist() -> None:
    keys = {
        cells[0].strip("`") for cells in rows("configuration.md") if re.fullmatch(r"`[a-z_.]+`", cells[0])
    }
    assert {key for key in keys if not key.startswith("topology.")} == set(CONFIG)


def test_the_grafana_board_and_the_alarms_name_numbers_that_there_are() -> None:
    known = set(re.findall(r"`(\w+)`", " ".join(" ".join(row[1:]) for row in rows("metrics.md"))))
    used = re.findall(
        r"heronpy_(\w+?)(?:_total)?\b",
        (ROOT / "examples" / "grafana" / "heronpy.json").read_text() + (DOCS / "operations.md").read_text(),
    )
    assert len(used) > 20
    assert set(used) <= known


def test_every_key_of_a_topology_that_has_an_effect_is_documented_and_no_other() -> None:
    first_cells = [cells[0] for cells in rows("configuration.md") if cells[0].startswith("`topology.")]
    assert sorted(key for cell in first_cells for key in re.findall(r"`([^`]+)`", cell)) == sorted(HEEDED)


@pytest.mark.parametrize("hook", sorted(KINDS))
def test_every_hook_is_documented_with_its_signature(hook: str) -> None:
    function = getattr(hookspecs, hook)
    returns = function.__annotations__["return"]
    assert f"`{hook}() -> {returns}`" in (DOCS / "plugins.md").read_text()


@pytest.mark.parametrize(
    "interface", ["ResourceManager", "Scheduler", "StateManager", "MetricSink", "CheckpointStore"]
)
def test_every_method_to_write_is_documented_with_its_signature(interface: str) -> None:
    page = (DOCS / "plugins.md").read_text()
    section = page.split(f"**`{interface}`**")[1].split("**`")[0]
    cls = getattr(heronpy, interface)
    for name in sorted(cls.__abstractmethods__):
        signature = str(inspect.signature(getattr(cls, name))).replace("'", "")
        signature = signature.replace("(self, ", "(").replace("(self)", "()")
        assert f"`{name}{signature}`" in section


def test_the_frame_layout_is_the_documented_one() -> None:
    prefix = frame.Prefix(frame.DATA, *range(1, 9))
    sealed, _ = frame.seal(prefix, b"payload")
    values = {"magic": frame.MAGIC, "version": frame.VERSION, **prefix._asdict()}
    table = [cells for cells in rows("protocol.md") if len(cells) == 4 and cells[1].isdigit()]
    layout = [(int(offset), int(size), name) for offset, size, name, _ in table]
    for offset, size, name in layout[:-1]:
        assert int.from_bytes(sealed[offset : offset + size], "little") == values[name], name
    assert [name for *_, name in layout] == [*values, "crc"]
    assert layout[-1][0] + layout[-1][1] == frame.PREFIX_BYTES


def test_every_kind_of_frame_and_of_link_head_is_documented() -> None:
    kinds = {
        cells[1]: int(cells[0]) for cells in rows("protocol.md") if len(cells) == 4 and cells[1].isupper()
    }
    of_links = {name: getattr(peer_link, name) for name in ("FRAME", "SYNC", "RECEIVED", "MISSING")}
    of_frames = {name: number for name, number in kinds.items() if name not in of_links}
    assert {name: kinds[name] for name in of_links} == of_links
    assert set(of_frames.values()) == frame.KINDS
    assert {name: getattr(frame, name) for name in of_frames} == of_frames


def test_every_control_message_and_both_versions_are_documented() -> None:
    fields = Envelope.DESCRIPTOR.oneofs_by_name["body"].fields
    bodies = {field.message_type.name for field in fields if field.message_type is not None}
    documented = {
        cells[0].strip("`") for cells in rows("protocol.md") if re.fullmatch(r"`[A-Z]\w+`", cells[0])
    }
    assert documented == bodies
    text = " ".join((DOCS / "protocol.md").read_text().split())
    assert f"data frames (version {frame.VERSION}, `kernel/flow/frame.py`)" in text
    assert f"control messages (version {PROTOCOL_VERSION}, `kernel/protocol/control.proto`)" in text


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_documented(verb: str) -> None:
    assert f"`heronpy {verb}" in (DOCS / "cli.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_nobody_is_told_to_install_the_other_package(page: Path) -> None:
    assert "pip install heronpy" not in re.sub(r"[^\S\n]+", " ", page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_is_to_be_installed_can_be_had_from_a_clone(page: Path) -> None:
    """The distribution is on no index, and extras exist."""
    text = page.read_text()
    assert re.findall(r"pip install '?heron-py", text) == []
    extras = [
        extra for found in re.findall(r"pip install '\.\[([\w,]+)\]'", text) for extra in found.split(",")
    ]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras) <= set(project["optional-dependencies"])


def test_no_page_denies_what_works() -> None:
    denials = {
        "configuration.md": "run as that one so far",
        "migrating-from-heron.md": "not there yet",
        "state.md": "will move",
    }
    assert [page for page, words in denials.items() if words in (DOCS / page).read_text()] == []


@pytest.mark.parametrize("suite", [SchedulerContract, StateManagerContract, UploaderContract])
def test_every_promise_of_a_contract_is_documented(suite: type) -> None:
    heading = HEADINGS[suite.__name__]
    text = (DOCS / "plugins.md").read_text().partition(f"\n### {heading}\n")[2].partition("\n##")[0]
    documented = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    promised = [name.removeprefix("test_") for name in vars(suite) if name.startswith("test_")]
    assert sorted(documented) == sorted(promised)


def test_architecture_is_short_and_its_files_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert len(text.splitlines()) < 150
    named = set(re.findall(r"`((?:[\w.-]+/)+[\w-]+\.(?:py|proto|md|toml))`", text))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_glossary_has_each_term_once_and_what_embodies_it_exists() -> None:
    terms = [row for row in rows("glossary.md") if "`" in row[2]]
    assert len(terms) > 30
    assert len({term for term, *_ in terms}) == len(terms)
    for term, _, place in terms:
        file, embodiment = re.findall(r"`([^`]+)`", place)
        pattern = rf"^((class|def) {embodiment}\b|{embodiment} = )"
        assert re.search(pattern, (ROOT / file).read_text(), re.MULTILINE), f"{term}: {place}"


def test_ci_runs_the_readmes_test_command() -> None:
    readme, ci = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()
    assert ci.splitlines()[-1] == "make test"
    first_screen = readme.splitlines()[:25]
    assert any(line.startswith("make demo") for line in first_screen)
    assert any(line.startswith("make test") for line in first_screen)
