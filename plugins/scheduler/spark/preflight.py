"""Whether a topology can run on this Spark at all: asked before anything is written or started."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import subprocess
from pathlib import Path

from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import PackingPlan
from heronpy.plugins.scheduler.spark.settings import LEAST_MEMORY, SparkSettings, memory, spark_home

log = logging.getLogger(__name__)

#: how long a Master may take to answer a connection
ANSWER_SECONDS = 3.0

JAVA_SECONDS = 20.0


def check(config: Config, plan: PackingPlan) -> None:
    """One line for whatever is missing, malformed or too small."""
    if spark_home() is None:
        msg = "the scheduler 'spark' needs PySpark, which is not installed"
        raise UserError(msg, hint="pip install 'heron-py[spark]'")
    settings = SparkSettings.of(config)
    _check_memory(settings)
    _check_slots(settings, plan)
    check_java()
    check_master(settings)
    _warn_of_open_secrets(config, settings)


def _check_memory(settings: SparkSettings) -> None:
    for key in ("spark.driver.memory", "spark.executor.memory"):
        if (text := settings.conf.get(key)) is None:
            continue
        try:
            enough = memory(text) >= LEAST_MEMORY
        except ValueError:
            msg = f"{key} is {text!r}, which is not a size such as 512m or 2g"
            raise UserError(msg) from None
        if not enough:
            msg = f"{key} is {text}, and Spark does not start with less than 450m"
            raise UserError(msg, hint=f"set {key}=512m")


def _check_slots(settings: SparkSettings, plan: PackingPlan) -> None:
    needed, slots = len(plan.containers) + 1, settings.slots
    if slots is not None and slots < needed:
        msg = (
            f"the topology has {needed} containers with the master's, and Spark may run {slots} tasks at once"
        )
        hint = "use local[*]" if settings.local else "set a larger spark.cores.max, or use fewer containers"
        raise UserError(msg, hint=hint)


def check_java() -> None:
    """Spark takes JAVA_HOME, or else what the path has."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    where = f"JAVA_HOME is {home}" if home else "there is no command java"
    if java is None:
        msg = f"Spark needs Java, and {where}"
        raise UserError(msg, hint="install Java 17 or newer, or set JAVA_HOME")
    try:
        subprocess.run([java, "-version"], capture_output=True, check=True, timeout=JAVA_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        msg = f"Spark needs Java, and {java} does not run: {error}"
        raise UserError(msg, hint="install Java 17 or newer, or set JAVA_HOME") from error


def check_master(settings: SparkSettings) -> None:
    reasons = []
    for host, port in settings.masters:
        try:
            socket.create_connection((host, port), ANSWER_SECONDS).close()
        except OSError as error:
            reasons.append(f"{host}:{port}: {error.strerror or error}")
        else:
            return
    if reasons:
        msg = f"no Spark Master answers at {settings.master} ({'; '.join(reasons).lower()})"
        raise UserError(msg, hint="use the address that the Master's web page shows as its URL")


def _warn_of_open_secrets(config: Config, settings: SparkSettings) -> None:
    if settings.local or settings.switch("spark.authenticate"):
        return
    if given := [key for key in config if key.endswith(".credentials") and config[key]]:
        log.warning(
            "warning: %s goes through Spark to the containers, and spark.authenticate is not on: "
            "any process that reaches the driver can read it",
            given[0],
        )
