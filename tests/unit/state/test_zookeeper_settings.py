"""Mistakes that need no ZooKeeper to be found."""

from __future__ import annotations

import os
import sys

import pytest

from heronpy.kernel.config import load_config
from heronpy.kernel.errors import PluginError, StateError
from heronpy.plugins.state.zookeeper.manager import ZooKeeperStateManager


def open_with(**settings: str) -> None:
    flags = {f"state.zookeeper.{key}": value for key, value in settings.items()}
    ZooKeeperStateManager().initialize(load_config(os.devnull, environ={}, flags=flags))


@pytest.mark.parametrize("hosts", ["", "a:b", "one:2181,", "one:2181/folder", "one two"])
def test_hosts_that_are_none_are_named(hosts: str) -> None:
    with pytest.raises(StateError, match=r"state\.zookeeper\.hosts is .*HOST:PORT"):
        open_with(hosts=hosts)


def test_a_root_outside_the_grammar_is_named() -> None:
    with pytest.raises(StateError, match=r"state\.zookeeper\.root is '/a b'"):
        open_with(root="/a b")


def test_without_kazoo_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kazoo", None)
    with pytest.raises(PluginError, match=r"needs kazoo.*pip install 'heron-py\[zookeeper\]'"):
        open_with()


def test_nobody_there_is_one_line_that_names_the_server() -> None:
    with pytest.raises(StateError) as told:
        open_with(hosts="127.0.0.1:1", timeout="200ms")
    assert str(told.value) == (
        "cannot reach ZooKeeper: 127.0.0.1:1 says: connection refused"
        " (try: start it, or --set state.zookeeper.hosts=HOST:PORT,…)"
    )
