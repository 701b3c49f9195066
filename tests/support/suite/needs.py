"""What tests need of the machine they run on. One rule for all: root and CI have everything, or a test fails;
for anybody else a test that cannot run is left out, and the end of the run says so.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Mapping
from types import ModuleType

import pytest

from heronpy.kernel.flow import compiled

#: what makes a normal user root in a network of its own
OWN_NETWORK = "tests/in-own-network make cluster"


def needs(met: bool, reason: str) -> None:
    """Go on if it is met. The reason says what is missing and, behind "try:", what helps."""
    if met:
        return
    if must_run_all(os.geteuid(), os.environ):
        raise RuntimeError(reason)
    pytest.skip(reason)


def must_run_all(user: int, environment: Mapping[str, str]) -> bool:
    """Whether nothing may be left out."""
    return user == 0 or environment.get("CI", "").lower() not in ("", "0", "false")


def needs_command(command: str, package: str) -> None:
    needs(shutil.which(command) is not None, f"no command {command!r} (try: install {package})")


def needs_compiled_module() -> ModuleType:
    """The one that `kernel/flow/_column_keys.c` becomes where there is a compiler."""
    reason = "kernel/flow/_column_keys.c is not compiled (try: install gcc, then make setup)"
    needs(compiled.columns is not None, reason)
    assert compiled.columns is not None
    return compiled.columns


def needs_java() -> None:
    """Servers run on it: ZooKeeper, Spark and YARN."""
    needs_command("java", "Java 17 or newer")


def needs_root_of_the_network() -> None:
    """For machines that this one reaches: that takes a cable from the network that we are on."""
    reason = "only root can add machines to the network that this one is on"
    needs(os.geteuid() == 0, f"{reason} (try: {OWN_NETWORK}, or as root)")
    needs_command("ip", "iproute2")


def needs_second_account() -> None:
    """For what another account on the same machine tries."""
    needs(os.geteuid() == 0, "only root can start a process under another account (try: as root)")


def needs_namespaces() -> None:
    """For networks and file systems of a test's own."""
    for command in ("unshare", "nsenter"):
        needs_command(command, "util-linux")
    refused = _refusal_of_namespaces()
    needs(not refused, f"no namespaces: {refused} (try: as root, or allow unprivileged user namespaces)")


@functools.cache
def _refusal_of_namespaces() -> str:
    done = subprocess.run(
        ["unshare", *own_user(), "--net", "--mount", "true"], capture_output=True, text=True, check=False
    )
    return done.stderr.strip() if done.returncode else ""


def own_user() -> tuple[str, ...]:
    """What `unshare` is told besides: whoever is not root becomes root of a namespace of users."""
    return () if os.geteuid() == 0 else ("--user", "--map-root-user")
