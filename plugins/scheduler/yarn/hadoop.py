"""Hadoop's configuration: where it comes from, and the timeouts of its clients."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heronpy.kernel.config import Config
from heronpy.kernel.errors import UserError
from heronpy.plugins.scheduler.yarn.java import Java

#: the files that make up Hadoop's configuration for a client
FILES = ("core-site.xml", "hdfs-site.xml", "yarn-site.xml")

#: for a command at a terminal: Hadoop's clients would retry for fifteen minutes
AT_A_TERMINAL = {
    "yarn.resourcemanager.connect.max-wait.ms": "3000",
    "yarn.resourcemanager.connect.retry-interval.ms": "1000",
    "ipc.client.connect.max.retries": "1",
    "ipc.client.connect.retry.interval": "500",
    "ipc.client.connect.max.retries.on.timeouts": "1",
    "ipc.client.connect.timeout": "5000",
    "yarn.client.failover-max-attempts": "3",
}

#: for an ApplicationMaster: a lost node must not delay calls to the others
IN_A_MASTER = {
    "yarn.resourcemanager.connect.retry-interval.ms": "1000",
    "yarn.client.nodemanager-connect.max-wait-ms": "3000",
    "yarn.client.nodemanager-connect.retry-interval-ms": "1000",
    "ipc.client.connect.max.retries": "2",
    "ipc.client.connect.retry.interval": "500",
    "ipc.client.connect.max.retries.on.timeouts": "0",
    "ipc.client.connect.timeout": "5000",
    "ipc.client.rpc-timeout.ms": "10000",
}


def folder_of(config: Config) -> Path | None:
    """Where this machine has Hadoop's configuration, if anywhere."""
    chosen = config.text("scheduler.yarn.conf")
    for each in (chosen, os.environ.get("HADOOP_CONF_DIR"), os.environ.get("YARN_CONF_DIR")):
        if each:
            folder = Path(each).expanduser().absolute()
            if not folder.is_dir():
                msg = f"{each} is not a folder with Hadoop's configuration"
                raise UserError(msg, hint="set scheduler.yarn.conf, or HADOOP_CONF_DIR in the environment")
            return folder
    return None


def configuration(java: Java, config: Config, settings: Mapping[str, str]) -> Any:
    """The files on the class path, then the user's settings, then these."""
    made = java.yarn.conf.YarnConfiguration()
    host = config.text("scheduler.yarn.resource_manager")
    if host:
        made.set("yarn.resourcemanager.hostname", host)
    for name, value in settings.items():
        made.set(name, value)
    return made
