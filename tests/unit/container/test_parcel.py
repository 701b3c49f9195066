"""What travels to other machines: the same bytes for the same files, and unpacked where it should be."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support.faults.second_account import STRANGER, as_stranger, shared_folder
from support.suite.needs import needs_second_account

from heronpy.container.remote.parcel import LAUNCH, PACKAGE, Parcel, build_package, requirements_of
from heronpy.container.remote.parcel.archive import sha256_of, write_archive
from heronpy.container.remote.parcel.bootstrap import Refused, _unpack
from heronpy.container.remote.parcel.code import code_files, relocated
from heronpy.container.remote.parcel.distributions import files_of, with_requirements
from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import PluginError, UserError
from heronpy.kernel.formats import LAUNCH as LAUNCH_FORMAT
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.plans import Source
from heronpy.kernel.plugin import Registry


def settings(**flags: str) -> Config:
    return load_config(os.devnull, environ={}, flags={key.replace("__", "."): flags[key] for key in flags})


@pytest.fixture
def project(tmp_path: Path) -> Source:
    """A topology file, a package beside it, and all that lies around in a checkout."""
    folder = tmp_path / "project"
    own = ("topology.py", "helpers/__init__.py", "helpers/words.txt")
    for name in (*own, ".git/index", "venv/pyvenv.cfg", "helpers/.env", "helpers/.cache/words"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "helpers/__pycache__").mkdir()
    (folder / "helpers/__pycache__/__init__.cpython-311.pyc").write_text("old")
    return Source(str(folder / "topology.py"), ("topology.py",), (str(folder),))


def test_the_users_folder_travels_without_what_only_lies_around(project: Source) -> None:
    names = {name for name, _ in code_files(project, 1000)}
    assert names == {"code/0/topology.py", "code/0/helpers/__init__.py", "code/0/helpers/words.txt"}


def test_a_secret_that_lies_beside_the_topology_stays_here(tmp_path: Path, project: Source) -> None:
    secret = Path(project.paths[0]) / "helpers" / "secret"
    secret.write_text("me:swordfish")
    config = settings(state__manager="zookeeper", state__zookeeper__credentials=str(secret))
    build_package(tmp_path / PACKAGE, config, Registry.load(), project)
    with zipfile.ZipFile(tmp_path / PACKAGE) as archive:
        names = [name for name in archive.namelist() if name.startswith("code/")]
    assert sorted(names) == ["code/0/helpers/__init__.py", "code/0/helpers/words.txt", "code/0/topology.py"]


def test_instances_find_the_file_in_the_package(project: Source) -> None:
    there = relocated(project).below("/far/package-1")
    assert there.file == "/far/package-1/code/0/topology.py"
    assert there.paths == ("/far/package-1/code/0",)


def test_a_source_of_this_machine_stays_where_it_is(project: Source) -> None:
    assert project.below("") == project


def test_a_folder_that_is_too_large_is_named(project: Source) -> None:
    with pytest.raises(UserError, match=r"project holds more than 20B.*upload\.limit"):
        list(code_files(project, 20))


def test_the_same_files_make_the_same_package(tmp_path: Path, project: Source) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    files = dict(code_files(project, 1000))
    write_archive(first, {"__main__.py": "main"}, files.items())
    for path in files.values():
        os.utime(path, (1, 1))
    write_archive(second, {"__main__.py": "main"}, reversed(files.items()))
    assert sha256_of(first) == sha256_of(second)


def test_a_distribution_brings_what_it_requires_and_no_extras() -> None:
    names = {found.metadata["Name"].lower() for found in with_requirements(["heron-py"])}
    assert {"heron-py", "pyzmq", "msgspec", "pluggy"} <= names
    assert names.isdisjoint({"kazoo", "pyspark", "pytest"})


def test_the_engine_is_found_wherever_it_is_installed_from() -> None:
    (engine,) = [found for found in with_requirements(["heron-py"]) if found.metadata["Name"] == "heron-py"]
    names = {name for name, _ in files_of(engine)}
    assert {"heronpy/__init__.py", "heronpy/heron.toml", "heronpy/kernel/flow/frame.py"} <= names
    # for this Python and this platform, and others refuse the package
    made_here = {name for name in names if name.endswith(".so")}
    assert made_here <= {"heronpy/kernel/flow/_column_keys.abi3.so"}
    assert any(name.endswith(".dist-info/entry_points.txt") for name in names)


def test_plugins_in_use_are_named_with_what_they_need() -> None:
    registry = Registry.load()
    assert requirements_of(settings(), registry) == ["heron-py"]
    assert requirements_of(settings(state__manager="zookeeper"), registry) == ["heron-py", "kazoo"]


def test_a_distribution_that_is_not_here_is_named() -> None:
    with pytest.raises(PluginError, match=r"'heronpy-nowhere', which is not installed here"):
        with_requirements(["heronpy-nowhere"])


@pytest.mark.parametrize("name", ["/etc/passwd", "../outside", "a/../../outside", "..\\outside"])
def test_nothing_is_unpacked_outside_of_the_folder(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "evil.pyz", "w") as archive:
        archive.writestr(name, "evil")
    (tmp_path / "folder").mkdir()
    with pytest.raises(Refused, match="not a plain file below its folder"):
        _unpack(tmp_path / "evil.pyz", tmp_path / "folder")
    assert not (tmp_path / "outside").exists()


def test_a_link_in_a_package_is_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("link")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "evil.pyz", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    (tmp_path / "folder").mkdir()
    with pytest.raises(Refused):
        _unpack(tmp_path / "evil.pyz", tmp_path / "folder")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    (folder / "code").mkdir()
    (folder / "code" / "topology.py").write_text("")
    source = Source(str(folder / "code" / "topology.py"), (), (str(folder / "code"),))
    build_package(folder / PACKAGE, settings(), Registry.load(), source)
    return folder / PACKAGE


def execution_of(folder: Path) -> str:
    return hashlib.sha256(bytes(folder)).hexdigest()[:12]


def arrive(
    package: Path, folder: Path, config: Config, temporary: Path | None = None, **changes: Any
) -> subprocess.CompletedProcess[str]:
    """Start a container as a scheduler on another machine does, and see what becomes of it."""
    folder.mkdir(exist_ok=True)
    shutil.copy(package, folder / PACKAGE)
    launch = TopologyLaunch("far", execution_of(folder), config.to_plain(), "", "", True)
    parcel = json.loads(LAUNCH_FORMAT.encode(Parcel.of(launch, sha256_of(package), ())))
    (folder / LAUNCH).write_text(json.dumps({**parcel, **changes}))
    with tempfile.TemporaryDirectory(prefix="far") as there:
        home = {"TMPDIR": str(temporary or there), "PATH": os.defpath}
        return subprocess.run(
            [sys.executable, "-I", "-S", PACKAGE, "container", LAUNCH, "1"],
            cwd=folder, env=home, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip


def test_another_python_is_refused(package: Path, tmp_path: Path) -> None:
    done = arrive(package, tmp_path / "far", settings(), python="3.9")
    assert done.returncode == 78
    assert "submitted with Python 3.9" in done.stderr
    assert "--set container.python=python3.9" in done.stderr


def test_another_platform_is_refused(package: Path, tmp_path: Path) -> None:
    done = arrive(package, tmp_path / "far", settings(), platform="linux-vax")
    assert done.returncode == 78
    assert (
        f"is Python {sys.version_info[0]}.{sys.version_info[1]} on {sysconfig.get_platform()}" in done.stderr
    )


def test_a_damaged_package_is_refused(package: Path, tmp_path: Path) -> None:
    done = arrive(package, tmp_path / "far", settings(), sha256="0" * 64)
    assert done.returncode == 78
    assert "is damaged" in done.stderr


def test_a_folder_that_another_account_made_first_is_refused(package: Path, tmp_path: Path) -> None:
    needs_second_account()
    execution = execution_of(tmp_path / "far")
    with shared_folder() as there:
        as_stranger("mkdir", "-m", "777", str(there / f"heronpy-{os.getuid()}-{execution}"))
        done = arrive(package, tmp_path / "far", settings(), there)
        assert [path.name for path in there.rglob("*")] == [f"heronpy-{os.getuid()}-{execution}"]
    assert done.returncode == 78
    assert f"-{execution} belongs to user {STRANGER}, and you are user 0 (try: remove it" in done.stderr


def test_a_plugin_that_did_not_come_along_is_named(package: Path, tmp_path: Path) -> None:
    config = settings()
    plain = {**config.to_plain(), "values": {**config, "metrics.sinks": ["graphite"]}}
    done = arrive(package, tmp_path / "far", Config.from_plain(plain))
    assert done.returncode == 78
    assert "no metric sink plugin named 'graphite'" in done.stderr.splitlines()[-1]
