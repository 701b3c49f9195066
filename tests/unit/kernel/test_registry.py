"""The registry: plugins are found by name, and a mistake in one is named."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pluggy
import pytest

from heronpy.kernel.errors import PluginError
from heronpy.kernel.plugin import Registry, hookimpl, hookspecs
from heronpy.kernel.plugin.registry import KINDS

HOOKS = sorted(name for name in vars(hookspecs) if name.startswith("heron_"))


def registry(**plugins: dict[str, Any]) -> Registry:
    """plugin=dict(hook=what it returns), …"""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    for name, hooks in plugins.items():
        made = SimpleNamespace(**{hook: hookimpl(_returning(value)) for hook, value in hooks.items()})
        manager.register(made, name=name)
    return Registry(manager)


def _returning(value: Any) -> Any:
    return lambda: value


class Mine:
    pass


class Other:
    pass


def test_every_hook_has_a_kind() -> None:
    assert sorted(KINDS) == HOOKS


def test_built_ins_come_through_entry_points_with_their_origin() -> None:
    listing = {(provided.kind, provided.name): provided.origin for provided in Registry.load().listing()}
    assert re.fullmatch(r"heron-py \d+\.\d+\.\d+", listing["state", "localfs"])
    assert {
        ("packing", "round_robin"),
        ("scheduler", "local"),
        ("checkpoint store", "localfs"),
        ("uploader", "fsspec"),
    } <= listing.keys()


def test_a_process_imports_of_the_built_ins_what_it_uses() -> None:
    program = (
        "import sys; from heronpy.kernel.plugin.opening import installed;"
        "before = len(installed().listing()), 'heronpy.plugins.state.localfs.manager' in sys.modules;"
        "installed().state_manager('localfs');"
        "print(*before, *sorted(each for each in sys.modules if each.startswith('heronpy.plugins.s')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    number, early, *imported = done.stdout.split()
    assert (int(number) >= 14, early) == (True, "False")
    assert "heronpy.plugins.state.localfs.manager" in imported
    assert not any("zookeeper" in each or "spark" in each or "yarn" in each for each in imported)


def test_each_built_in_is_where_its_hook_says() -> None:
    for provided in Registry.load().listing():
        if provided.distribution == "heron-py":
            assert provided.value.__module__.startswith("heronpy.plugins.")
            assert getattr(provided.value, "name", provided.name) == provided.name


def test_a_class_is_found_by_its_name() -> None:
    found = registry(
        one={"heron_resource_managers": {"mine": Mine}},
        two={"heron_schedulers": {"mine": Mine}, "heron_state_managers": {"mine": Mine}},
        three={"heron_metric_sinks": {"mine": Mine}, "heron_checkpoint_stores": {"mine": Mine}},
        four={"heron_uploaders": {"mine": Mine}},
    )
    finders: tuple[Callable[[str], object], ...] = (
        found.resource_manager,
        found.scheduler,
        found.state_manager,
        found.metric_sink,
        found.checkpoint_store,
        found.uploader,
    )
    assert [find("mine") for find in finders] == [Mine] * 6
    assert [(each.kind, each.origin) for each in found.listing()] == [
        (kind, f"{plugin} (registered in process)")
        for kind, plugin in (
            ("checkpoint store", "three"),
            ("metric sink", "three"),
            ("packing", "one"),
            ("scheduler", "two"),
            ("state", "two"),
            ("uploader", "four"),
        )
    ]
    assert found.broken == {}


def test_an_unknown_name_gets_a_suggestion() -> None:
    found = registry(one={"heron_schedulers": {"local": Mine, "yarn": Mine}})
    with pytest.raises(PluginError, match=r"^no scheduler plugin named 'lcoal'; did you mean 'local'\?$"):
        found.scheduler("lcoal")
    with pytest.raises(PluginError, match=r"^no scheduler plugin named 'k8s' \(known: local, yarn\)$"):
        found.scheduler("k8s")


def test_the_second_of_two_plugins_of_one_name_is_left_out() -> None:
    found = registry(
        one={"heron_resource_managers": {"mine": Mine}},
        two={"heron_resource_managers": {"mine": Other}, "heron_schedulers": {"other": Other}},
    )
    assert found.provided("packing", "mine").value is Mine
    why = "the packing 'mine' is provided by one (registered in process) already"
    assert found.broken == {"two (registered in process)": why}
    asked = f"no scheduler plugin named 'other' .*left out: two .* cannot be used: {re.escape(why)}"
    with pytest.raises(PluginError, match=asked):
        found.scheduler("other")


def test_a_misspelt_hook_is_named(caplog: pytest.LogCaptureFixture) -> None:
    found = registry(
        one={"heron_shedulers": {"mine": Mine}, "heron_uploaders": {"mine": Mine}},
        two={"heron_uploaders": {"yours": Mine}},
    )
    assert [each.name for each in found.listing()] == ["yours"]
    why = f"it implements an unknown hook heron_shedulers; there are {', '.join(KINDS)}"
    assert found.broken == {"one (registered in process)": why}
    assert caplog.messages == [
        f"the plugin one (registered in process) cannot be used and is left out: {why}"
    ]


@pytest.mark.parametrize("answer", [None, Mine, ["mine"]])
def test_a_hook_that_returns_no_mapping_is_named(answer: Any) -> None:
    found = registry(one={"heron_schedulers": answer})
    (why,) = found.broken.values()
    assert why == f"heron_schedulers returned {answer!r}, not a mapping of name to class"


def test_a_hook_that_raises_is_named() -> None:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)

    @hookimpl
    def heron_schedulers() -> Any:
        msg = "its server\nis down"
        raise LookupError(msg)

    manager.register(SimpleNamespace(heron_schedulers=heron_schedulers), name="one")
    assert Registry(manager).broken == {"one (registered in process)": "LookupError: its server is down"}
