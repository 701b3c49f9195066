"""localfs keeps the contract of state managers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.plugins.state.localfs.manager import LocalFsStateManager
from heronpy.plugins.state.localfs.poller import Poller
from heronpy.testing.contracts.state_manager import SOON, StateManagerContract, Told


class WithoutInotify(LocalFsStateManager):
    """As for a user whose inotify instances are all taken."""

    def _new_watcher(self) -> Poller:
        return Poller(self._root, self._tree, self._sessions_ended)


class TestLocalFs(StateManagerContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.home = tmp_path

    def make(self) -> StateManager:
        return LocalFsStateManager()

    def config(self) -> Config:
        return load_config(os.devnull, environ={}, flags={"home": str(self.home)})


class TestLocalFsWithoutInotify(TestLocalFs):
    def make(self) -> StateManager:
        return WithoutInotify()

    def test_a_damaged_node_keeps_no_change_of_another_from_being_told(self, one: StateManager) -> None:
        for path in ("/t/plan", "/t/live"):
            one.create(path, b"")
        (self.home / "state/t/plan/@value").write_bytes(b"")
        mended, told = Told(), Told()
        one.watch("/t/plan", mended)
        one.watch("/t/live", told)
        one.set("/t/live", b"another")
        assert told.within(SOON)
        one.repair("/t/plan", b"again")
        assert mended.within(SOON)
