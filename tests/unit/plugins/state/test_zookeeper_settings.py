"""Mistakes that need no ZooKeeper to be found."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import PluginError, StateError
from heronpy.plugins.state.zookeeper.manager import ZooKeeperStateManager
from heronpy.plugins.state.zookeeper.settings import Settings


def config(given: Mapping[str, str]) -> Config:
    flags = {f"state.zookeeper.{key}": value for key, value in given.items()}
    return load_config(os.devnull, environ={}, flags=flags)


def open_with(**given: str) -> None:
    ZooKeeperStateManager().initialize(config(given))


def settings(**given: str) -> Settings:
    return Settings.of(config(given))


@pytest.mark.parametrize("hosts", ["", "a:b", "one:2181,", "one:2181/folder", "one two"])
def test_hosts_that_are_none_are_named(hosts: str) -> None:
    with pytest.raises(StateError, match=r"state\.zookeeper\.hosts is .*HOST:PORT"):
        open_with(hosts=hosts)


def test_a_root_outside_the_grammar_is_named() -> None:
    with pytest.raises(StateError, match=r"state\.zookeeper\.root is '/a b'"):
        open_with(root="/a b")


@pytest.mark.parametrize("hosts", ["10.0.0.1:2181", "127.0.0.1:2181,zk2:2181", "[2001:db8::1]:2181"])
def test_servers_that_others_reach_need_credentials_or_an_explicit_word(hosts: str, tmp_path: Path) -> None:
    with pytest.raises(StateError) as told:
        open_with(hosts=hosts)
    far = hosts.split(",")[-1].rpartition(":")[0].strip("[]")
    assert str(told.value) == (
        f"without credentials, all who reach ZooKeeper at {far} decide what your topologies run"
        " (try: --set state.zookeeper.credentials=FILE, or --set state.zookeeper.open=true to allow that)"
    )
    secret = tmp_path / "secret"
    secret.touch(mode=0o600)
    secret.write_text("me:word\n")
    assert settings(hosts=hosts, credentials=str(secret)).hosts == hosts
    assert settings(hosts=hosts, open="true").hosts == hosts


@pytest.mark.parametrize("hosts", ["127.0.0.1:2181", "localhost", "[::1]:2181", "127.8.9.1:2181,localhost:1"])
def test_servers_of_this_machine_alone_need_neither(hosts: str) -> None:
    assert settings(hosts=hosts).hosts == hosts


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
