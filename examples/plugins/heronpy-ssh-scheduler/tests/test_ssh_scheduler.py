"""The scheduler `ssh`: the engine's contract, on a machine that is this one, and what only it has."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from heronpy_ssh_scheduler import scheduler as scheduler_module
from heronpy_ssh_scheduler.scheduler import SshScheduler

from heronpy import Config, Scheduler, UserError
from heronpy.kernel.config import load_config
from heronpy.testing.contracts.scheduler import SchedulerContract, plan

#: stands for ssh: what it is given as a machine's name is this one
HERE = '#!/bin/sh\nexec sh -c "$2"\n'


def settings(folder: Path, **own: str) -> Config:
    here = folder / "here"
    here.write_text(HERE)
    here.chmod(0o755)
    known = {"machines": "one,another", "command": str(here), "folder": str(folder / "there"), **own}
    flags = {f"plugins.ssh.{key}": value for key, value in known.items()}
    return load_config(os.devnull, environ={}, flags={"home": str(folder), "kill.timeout": "100ms", **flags})


class TestSshScheduler(SchedulerContract):
    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The containers of the contract know nothing of lifelines: there is no use in waiting."""
        monkeypatch.setattr(scheduler_module, "MOMENT", 0.1)

    def make(self) -> Scheduler:
        return SshScheduler()

    def config(self, folder: Path) -> Config:
        return settings(folder)


def test_a_machine_that_refuses_is_named_before_anything_starts(tmp_path: Path) -> None:
    SshScheduler.preflight(settings(tmp_path), plan(1))
    (tmp_path / "locked").write_text("#!/bin/sh\necho Permission denied >&2; exit 255\n")
    (tmp_path / "locked").chmod(0o755)
    with pytest.raises(UserError, match="machine 'one' refused a command: Permission denied"):
        SshScheduler.preflight(settings(tmp_path, command=str(tmp_path / "locked")), plan(1))


def test_it_wants_machines(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"does not know any machine \(try: --set plugins.ssh.machines=one"):
        SshScheduler.preflight(settings(tmp_path, machines=" , "), plan(1))
