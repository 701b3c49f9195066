"""The runner `spark` before it starts: what it makes of the user's settings, and what it shows of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark import SparkContext

from heronpy import Pipeline
from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import UserError
from heronpy.pipeline import sinks, sources
from heronpy.planner.planning import planned
from heronpy.plugins.runner.spark.runner import SparkRunner
from heronpy.plugins.runner.spark.settings import JobSettings


@pytest.fixture(autouse=True)
def defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Spark's own file of settings."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    return tmp_path / "spark-defaults.conf"


def config(master: str, *conf: str) -> Config:
    spark = {"scheduler.spark.master": master, "scheduler.spark.conf": ",".join(conf)}
    return load_config(os.devnull, environ={}, flags=spark)


def refused(master: str) -> str:
    """What is said of a pipeline that does not begin."""
    p = Pipeline("p")
    p.read(sources.items([1])).write(sinks.printed())
    runner = SparkRunner()
    runner.initialize(config(master))
    with pytest.raises(UserError) as caught:
        runner.check(planned(p.graph()))
    return str(caught.value)


def test_a_token_is_never_shown() -> None:
    runner = SparkRunner()
    runner.initialize(config("sc://127.0.0.1:1/;token=SECRET;use_ssl=true"))
    assert runner.note == "as a Spark job at sc://127.0.0.1:1"
    assert refused("sc://127.0.0.1:1/;token=SECRET").startswith(
        "no Spark Connect server answers at sc://127.0.0.1:1 (127.0.0.1:1: connection refused) (try: "
    )
    with pytest.raises(UserError, match=r"^scheduler\.spark\.master is 'sc:://a', which is not a master URL"):
        JobSettings.of(config("sc:://a/;token=SECRET"))


def test_a_spark_of_the_users_in_this_process_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = object()
    monkeypatch.setattr(SparkContext, "_gateway", theirs)
    assert refused("local[2]") == (
        "this process has a Spark of its own already, and the runner 'spark' starts another"
        " (try: use a process without one: heronpy run FILE --runner spark)"
    )
    assert SparkContext._gateway is theirs


def test_what_the_user_sets_for_spark_wins_and_options_of_java_are_joined(
    tmp_path: Path, defaults: Path
) -> None:
    defaults.write_text(
        "spark.driver.bindAddress 0.0.0.0\n"
        "spark.driver.extraJavaOptions -Da=b\n"
        "spark.pyspark.python /opt/python\n"
        "spark.scheduler.maxRegisteredResourcesWaitingTime 1s\n"
    )
    settings = JobSettings.of(config("spark://127.0.0.1:1", "spark.ui.enabled=true"))
    found = settings.application("words", tmp_path)
    assert settings.python == "/opt/python"
    assert "spark.driver.bindAddress" not in found, "Spark reads its own file"
    assert "spark.scheduler.maxRegisteredResourcesWaitingTime" not in found
    assert found["spark.scheduler.minRegisteredResourcesRatio"] == "1.0"
    assert found["spark.ui.enabled"] == "true"
    assert found["spark.driver.extraJavaOptions"] == (
        f'"-Djava.io.tmpdir={tmp_path}" "-Dlog4j2.configurationFile={tmp_path / "log4j2.properties"}" -Da=b'
    )
    here = JobSettings.of(config("local[2]", "spark.driver.bindAddress=127.0.0.2"))
    found = here.application("words", tmp_path)
    assert (found["spark.driver.host"], found["spark.driver.bindAddress"]) == ("127.0.0.1", "127.0.0.2")
    assert "spark.scheduler.minRegisteredResourcesRatio" not in found
