"""The section [scheduler.spark], together with Spark's own file of defaults."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.kernel.machine.listen_address import address_towards
from heronpy.kernel.plans import Resources
from heronpy.kernel.plans.packing import MB

_LOCAL = re.compile(r"local(\[(\*|\d+)(,\d+)?\])?")
_STANDALONE = re.compile(r"spark://[^\s,/]+:\d{1,5}(,[^\s,/]+:\d{1,5})*")
_OTHER = re.compile(r"(yarn|k8s://\S+)")
_SIZE = re.compile(r"(\d+)([bkmgt]?)b?", re.IGNORECASE)

#: slots of local[*]: a container is a process, which the system gives a core when it has one
MANY_SLOTS = 1024

#: below this Spark refuses to start a JVM: one and a half times what it reserves for itself
LEAST_MEMORY = 450 * MB

#: memory of an executor beyond its container's: its JVM
JVM_MEMORY = 512 * MB

#: what the engine relies on, whatever else is set
_FIXED = {
    "spark.speculation": "false",
    "spark.task.maxFailures": "1",  # the engine starts a container again, not Spark
    "spark.python.task.killTimeout": "200ms",
}

_DEFAULTS = {
    "spark.driver.memory": "512m",
    "spark.log.level": "WARN",
    # with spark.cores.max, containers wait a moment for all executors, and spread over them
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "5s",
    "spark.ui.showConsoleProgress": "false",
}


class SparkSettings(msgspec.Struct, frozen=True):
    """Which Spark, and how an application of heronpy behaves there."""

    master: str
    #: where the driver's door is; 0 is any free port
    port: int
    #: Spark's own settings: the user's, and those of spark-defaults.conf
    conf: Mapping[str, str]
    #: those that Spark must be given: it reads that file itself, and arguments are visible to all users
    told: Mapping[str, str]

    @classmethod
    def of(cls, config: Config, fixed: Collection[str] | None = None) -> SparkSettings:
        """As the settings say; those of Spark that are fixed cannot be chosen."""
        master = config.text("scheduler.spark.master")
        if not any(pattern.fullmatch(master) for pattern in (_LOCAL, _STANDALONE, _OTHER)):
            msg = f"scheduler.spark.master is {master!r}, which is not a master URL of Spark"
            raise UserError(msg, hint="use spark://HOST:7077, or local[*]")
        told = chosen(config.words("scheduler.spark.conf"), _FIXED if fixed is None else fixed)
        return cls(master, config.integer("scheduler.spark.port"), {**_spark_defaults(), **told}, told)

    @property
    def local(self) -> bool:
        """Whether containers run on this machine."""
        return _LOCAL.fullmatch(self.master) is not None

    @property
    def masters(self) -> list[tuple[str, int]]:
        """Host and port of every Master of a standalone cluster."""
        if not self.master.startswith("spark://"):
            return []
        pairs = (each.rpartition(":") for each in self.master.removeprefix("spark://").split(","))
        return [(host.strip("[]"), int(port)) for host, _, port in pairs]

    @property
    def dynamic(self) -> bool:
        """Whether Spark starts executors as they are asked for, each as large as its container."""
        return self.switch("spark.dynamicAllocation.enabled")

    @property
    def slots(self) -> int | None:
        """How many containers can run at once according to the settings; None if they do not limit it."""
        found = _LOCAL.fullmatch(self.master)
        cores = (found[2] or "1") if found else self.conf.get("spark.cores.max", "*")
        if cores == "*" or self.dynamic:
            return None
        return int(cores) // int(self.conf.get("spark.task.cpus", "1"))

    def switch(self, key: str) -> bool:
        return self.conf.get(key, "false").lower() == "true"

    def spark_master(self) -> str:
        """The master URL that Spark is given."""
        return f"local[{MANY_SLOTS}]" if self.master == "local[*]" else self.master

    def own_address(self) -> str:
        """Where executors reach this machine: from here, the way to the Master begins with it."""
        if chosen := self.conf.get("spark.driver.host") or os.environ.get("SPARK_LOCAL_IP"):
            return chosen
        if self.local:
            return "127.0.0.1"
        return address_towards(*next(iter(self.masters), (socket.gethostname(), 1)))

    def executor_environment(self) -> dict[str, str]:
        """Variables that the user sets for executors are passed to containers."""
        prefix = "spark.executorEnv."
        return {key.removeprefix(prefix): text for key, text in self.conf.items() if key.startswith(prefix)}

    def application(self, topology: str) -> dict[str, str]:
        """Spark's settings for the application of a topology."""
        address = self.own_address()
        own = {**_DEFAULTS, "spark.driver.host": address, "spark.driver.bindAddress": address}
        return {
            **{key: value for key, value in own.items() if key not in self.conf},
            **self.told,
            **_FIXED,
            "spark.master": self.spark_master(),
            "spark.app.name": f"heronpy {topology}",
        }


def executor_size(resources: Resources) -> tuple[int, int]:
    """Cores and megabytes of an executor for one container."""
    cores = max(1, -int(-resources.cpu // 1))
    return cores, -(-(resources.ram + JVM_MEMORY) // MB)


def memory(text: str) -> int:
    """Bytes, as Spark reads `2g`; a number alone is in megabytes."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    return int(found[1]) << {"b": 0, "k": 10, "m": 20, "g": 30, "t": 40}[found[2].lower() or "m"]


def spark_home() -> Path | None:
    """Where Spark is: SPARK_HOME, or the PySpark that is installed; None if there is none."""
    if home := os.environ.get("SPARK_HOME"):
        return Path(home)
    found = importlib.util.find_spec("pyspark")
    return Path(found.origin).parent if found is not None and found.origin else None


def chosen(words: tuple[str, ...], fixed: Collection[str]) -> dict[str, str]:
    """What `scheduler.spark.conf` sets, without what is fixed."""
    found = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key.startswith("spark."):
            msg = f"scheduler.spark.conf has {word!r}, which is not of the form spark.KEY=VALUE"
            raise UserError(msg, hint="write it as in spark.executor.memory=2g")
        if key in fixed or key in ("spark.master", "spark.app.name"):
            msg = f"scheduler.spark.conf sets {key}, which heronpy sets itself"
            raise UserError(msg, hint="leave it out")
        found[key] = value
    return found


def _spark_defaults() -> dict[str, str]:
    """The settings in spark-defaults.conf: a key, white space or an equals sign, and a value on each line."""
    home = spark_home()
    folder = os.environ.get("SPARK_CONF_DIR") or (str(home / "conf") if home is not None else "")
    try:
        lines = (Path(folder) / "spark-defaults.conf").read_text().splitlines()
    except OSError:
        return {}
    pairs = (re.split(r"\s*=\s*|\s+", line.strip(), maxsplit=1) for line in lines)
    return {pair[0]: pair[1] for pair in pairs if len(pair) > 1 and pair[0].startswith("spark.")}
