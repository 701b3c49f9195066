"""What can be seen before anything starts: settings that cannot work, in one line each."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import Resources
from heronpy.kernel.plans.packing import GB
from heronpy.plugins.scheduler.spark import SparkScheduler
from heronpy.plugins.scheduler.spark.settings import SparkSettings, executor_size, memory
from heronpy.testing.contracts.scheduler import plan


def config(master: str, *conf: str, **flags: str) -> Config:
    spark = {"scheduler.spark.master": master, "scheduler.spark.conf": ",".join(conf)}
    return load_config(os.devnull, environ={}, flags={**spark, **flags})


@pytest.fixture(autouse=True)
def _no_defaults_of_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)


@pytest.mark.parametrize(
    "master", ["", "spark:/host", "spark://host", "spark://a:1,b", "local[x]", "http://a:1"]
)
def test_what_is_no_master_url_is_refused(master: str) -> None:
    with pytest.raises(
        UserError, match=r"^scheduler\.spark\.master is '.*', which is not a master URL of Spark"
    ):
        SparkScheduler.remote(config(master))


@pytest.mark.parametrize(
    ("master", "remote"),
    [("local", False), ("local[*]", False), ("local[2,3]", False), ("spark://a:1,b:2", True), ("yarn", True)],
)
def test_only_local_masters_use_this_machine(master: str, remote: bool) -> None:
    assert SparkScheduler.remote(config(master)) is remote


def test_as_many_slots_as_are_asked_for_on_this_machine() -> None:
    assert SparkSettings.of(config("local[*]")).spark_master() == "local[1024]"
    assert SparkSettings.of(config("local[3]")).spark_master() == "local[3]"


@pytest.mark.parametrize(
    ("master", "conf", "told"),
    [
        (
            "local[2]",
            (),
            "the topology has 3 containers with the master's, and Spark may run 2 tasks at once",
        ),
        ("local", (), "and Spark may run 1 tasks at once"),
        ("spark://127.0.0.1:1", ("spark.cores.max=4", "spark.task.cpus=2"), "Spark may run 2 tasks at once"),
        (
            "local[*]",
            ("spark.executor.memory=300m",),
            "spark.executor.memory is 300m, and Spark does not start",
        ),
        (
            "local[*]",
            ("spark.driver.memory=much",),
            "spark.driver.memory is 'much', which is not a size such as",
        ),
        (
            "local[*]",
            ("executor.memory=1g",),
            "'executor.memory=1g', which is not of the form spark.KEY=VALUE",
        ),
        ("local[*]", ("spark.task.maxFailures=4",), "spark.task.maxFailures, which heronpy sets itself"),
        (
            "spark://127.0.0.1:1",
            (),
            "no Spark Master answers at spark://127.0.0.1:1 (127.0.0.1:1: connection",
        ),
    ],
)
def test_what_cannot_work_is_said_before_anything_starts(
    master: str, conf: tuple[str, ...], told: str
) -> None:
    with pytest.raises(UserError) as error:
        SparkScheduler.preflight(config(master, *conf), plan(1, 2))
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_any_master_of_several_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as master:
        url = f"spark://127.0.0.1:1,127.0.0.1:{master.getsockname()[1]}"
        SparkScheduler.preflight(config(url), plan(1, 2))


@pytest.mark.parametrize("java_home", ["/nowhere", ""])
def test_without_java_it_says_where_it_looked(monkeypatch: pytest.MonkeyPatch, java_home: str) -> None:
    monkeypatch.setenv("JAVA_HOME", java_home)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(
        UserError, match=r"^Spark needs Java, and (/nowhere/bin/java does not run|there is no)"
    ):
        SparkScheduler.preflight(config("local[*]"), plan(1))


def test_secrets_on_an_open_network_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as master:
        url = f"spark://127.0.0.1:{master.getsockname()[1]}"
        secret = {"state.zookeeper.credentials": "/somewhere"}
        SparkScheduler.preflight(config(url, "spark.authenticate=true", **secret), plan(1))
        assert caplog.messages == []
        SparkScheduler.preflight(config(url, **secret), plan(1))
        (warning,) = caplog.messages
        assert "state.zookeeper.credentials goes through Spark" in warning


def test_what_spark_itself_is_set_to_counts_and_the_users_word_counts_more(tmp_path: Path) -> None:
    defaults = "# ours\nspark.driver.host   10.0.0.7\nspark.executor.memory=2g\nspark.cores.max 4\n"
    (tmp_path / "spark-defaults.conf").write_text(defaults)
    settings = SparkSettings.of(config("spark://a:1", "spark.cores.max=8", "spark.executorEnv.COLOUR=red"))
    assert settings.own_address() == "10.0.0.7"
    assert settings.slots == 8
    assert settings.executor_environment() == {"COLOUR": "red"}
    told = settings.application("Words")
    assert (told["spark.cores.max"], told["spark.app.name"]) == ("8", "heronpy Words")
    assert (told["spark.task.maxFailures"], told["spark.speculation"]) == ("1", "false")
    # these Spark reads itself, and what it is told everybody sees among the arguments of a process
    assert told.keys().isdisjoint({"spark.executor.memory", "spark.driver.host"})


def test_an_executor_for_one_container_has_its_cores_and_room_for_its_jvm() -> None:
    assert executor_size(Resources(cpu=2.1, ram=GB)) == (3, 1024 + 512)
    assert executor_size(Resources()) == (1, 512)


def test_memory_is_read_as_spark_reads_it() -> None:
    assert [memory(text) for text in ("512", "512m", "1g", "2048k")] == [
        512 << 20,
        512 << 20,
        1 << 30,
        2 << 20,
    ]
