"""What the scheduler `yarn` says to YARN and hears from it, without one."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from heronpy.kernel.plans import Resources
from heronpy.kernel.plans.packing import GB, MB
from heronpy.kernel.plugin import Launch
from heronpy.plugins.scheduler.yarn import secrets
from heronpy.plugins.scheduler.yarn.contexts import command_line, wanted
from heronpy.plugins.scheduler.yarn.diagnostics import exit_of, last_words
from heronpy.plugins.scheduler.yarn.secrets import secrets_in

#: as YARN wrote it for a container that ended with status 78
DIED = """[2026-11-17 02:37:52.370]Exception from container-launch.
Container id: container_1794882935479_0001_01_000004
Exit code: 78

[2026-11-17 02:37:52.401]Container exited with a non-zero exit code 78. Error file: prelaunch.err.
Last 4096 bytes of prelaunch.err :
Last 4096 bytes of stderr :
first words
error: no Python 3.11 here


"""
LOST = "Container released on a *lost* node"

#: as Hadoop wrote it: one token, as an ApplicationMaster has, and two secret keys, of which one is ours
ONE_TOKEN = b"\x01\x04rm:1\x02id\x03pwd\x04kind\x04rm:1"
CREDENTIALS = b"HDTS\x00" + ONE_TOKEN + b"\x02\x05other\x01x\x0dheronpy:state\x8f\xc8" + b"s" * 200


def launch(*argv: str, **environment: str) -> Launch:
    return Launch(1, argv, environment, (), Resources(), "")


@pytest.mark.parametrize(
    ("status", "diagnostics", "expected"),
    [
        (78, DIED, (78, "error: no Python 3.11 here")),
        (137, "", (-9, "")),
        (143, "[time]Killed by external signal\n", (-15, "")),
        (1, "", (1, "")),
        (-100, LOST, (None, LOST)),
        (
            -104,
            "[2026-11-17 02:37:52.370]Container is beyond physical memory limits.\nmore",
            (None, "Container is beyond physical memory limits."),
        ),
    ],
)
def test_how_a_container_ended(status: int, diagnostics: str, expected: tuple[int | None, str]) -> None:
    assert exit_of(status, diagnostics) == expected


def test_last_words_of_one_that_said_nothing() -> None:
    assert last_words("Last 4096 bytes of stderr :\n\n\n") == ""


def test_sizes_are_whole_and_never_nothing() -> None:
    assert wanted(Resources()) == (1, 1)
    assert wanted(Resources(cpu=2.1, ram=GB + 1)) == (1025, 3)
    assert wanted(Resources(cpu=1.0, ram=256 * MB)) == (256, 1)


@pytest.mark.parametrize(
    "word", ["plain", "two words", "a \"quoted\" $HOME `date` \\ and 'this'", "line\nbreak", ""]
)
def test_a_command_reaches_the_process_as_it_was(word: str, tmp_path: Path) -> None:
    """Through the shell script that YARN writes, which puts the command between double quotes."""
    script = (
        "import os, sys; print(ascii(sys.argv[1:]), os.environ['WORD'] == sys.argv[1], 'LEFT' in os.environ)"
    )
    line = command_line(launch(sys.executable, "-c", script, word, WORD=word), ["PATH"], unpack=False)
    outer = 'exec /bin/bash -c "' + line.replace("<LOG_DIR>", str(tmp_path)) + '"'
    subprocess.run(["bash", "-c", outer], env={**os.environ, "LEFT": "1"}, check=True)
    assert (tmp_path / "stdout").read_text() == f"{[word]!a} True False\n"


def test_the_environment_that_is_kept_may_be_missing(tmp_path: Path) -> None:
    line = command_line(launch("env"), ["KEPT", "MISSING"], unpack=False)
    outer = 'exec /bin/bash -c "' + line.replace("<LOG_DIR>", str(tmp_path)) + '"'
    subprocess.run(["/bin/bash", "-c", outer], env={"PATH": os.environ["PATH"], "KEPT": "a b"}, check=True)
    assert (tmp_path / "stdout").read_text() == "KEPT=a b\n"


def test_python_is_the_nodes_own_unless_somebody_says_which() -> None:
    assert " python3 heronpy.pyz" in command_line(launch("", "heronpy.pyz"), [], unpack=False)
    assert " /opt/python heronpy.pyz" in command_line(launch("/opt/python", "heronpy.pyz"), [], unpack=False)


def test_secrets_are_found_among_yarns_credentials() -> None:
    assert list(secrets_in(io.BytesIO(CREDENTIALS))) == [("state", b"s" * 200)]


def test_secrets_become_files_of_their_owner(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_bytes(CREDENTIALS)
    subprocess.run(
        [sys.executable, "-I", secrets.__file__],
        cwd=tmp_path,
        env={"HADOOP_TOKEN_FILE_LOCATION": str(tokens)},
        check=True,
    )
    assert (tmp_path / "state").read_bytes() == b"s" * 200
    assert [oct(path.stat().st_mode & 0o777) for path in (tmp_path / "state", tokens)] == ["0o600"] * 2


def test_credentials_of_another_kind_are_refused() -> None:
    with pytest.raises(SystemExit, match="not known here"):
        list(secrets_in(io.BytesIO(b"HDTS\x01")))
