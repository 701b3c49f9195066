"""The registry: plugins are found by name, and a mistake in one is named."""

from __future__ import annotations

import re
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
        (kind, "registered in process")
        for kind in ("checkpoint store", "metric sink", "packing", "scheduler", "state", "uploader")
    ]


def test_an_unknown_name_gets_a_suggestion() -> None:
    found = registry(one={"heron_schedulers": {"local": Mine, "yarn": Mine}})
    with pytest.raises(PluginError, match=r"^no scheduler plugin named 'lcoal'; did you mean 'local'\?$"):
        found.scheduler("lcoal")
    with pytest.raises(PluginError, match=r"^no scheduler plugin named 'k8s' \(known: local, yarn\)$"):
        found.scheduler("k8s")


def test_two_plugins_of_one_name_are_both_named() -> None:
    with pytest.raises(PluginError, match=r"two plugins provide the packing 'mine': .* and .*uninstall one"):
        registry(
            one={"heron_resource_managers": {"mine": Mine}}, two={"heron_resource_managers": {"mine": Mine}}
        )


def test_a_misspelt_hook_is_refused_when_plugins_are_loaded() -> None:
    with pytest.raises(
        PluginError, match=r"implements an unknown hook: .*heron_shedulers.*one of heron_resource"
    ):
        registry(one={"heron_shedulers": {"mine": Mine}})


@pytest.mark.parametrize("answer", [None, Mine, ["mine"]])
def test_a_hook_that_returns_no_mapping_is_named(answer: Any) -> None:
    message = "heron_schedulers of registered in process returned"
    with pytest.raises(PluginError, match=f"^{message} {re.escape(repr(answer))}, not a mapping"):
        registry(one={"heron_schedulers": answer})
