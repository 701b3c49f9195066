"""Makes this process an ApplicationMaster, of the kind that YARN did not start itself (an unmanaged one)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.clusters.yarn_cluster import YarnCluster
from support.running.engine import wait_until

from heronpy.plugins.scheduler.yarn.java import Java, client_jars
from heronpy.plugins.scheduler.yarn.master import CONF, FOLDER, JARS


@contextlib.contextmanager
def unmanaged_master(cluster: YarnCluster, folder: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Inside, a scheduler of this process finds what it would find in a container of YARN."""
    (folder / JARS).mkdir()
    for jar in client_jars():
        (folder / JARS / jar.name).symlink_to(jar)
    (folder / CONF).symlink_to(cluster.conf)
    with Java([cluster.conf, *client_jars()], quiet=True) as java:
        client = java.yarn.client.api.YarnClient.createYarnClient()
        client.init(java.yarn.conf.YarnConfiguration())
        client.start()
        application = _submit(java, client)
        try:
            wait_until(lambda: client.getAMRMToken(application) is not None, 30, "a token")
            _write(java, client.getAMRMToken(application), folder / "tokens")
            patch.setenv(FOLDER, str(folder))
            patch.setenv("HADOOP_TOKEN_FILE_LOCATION", str(folder / "tokens"))
            attempt = java.records.ApplicationAttemptId.newInstance(application, 1)
            container = java.records.ContainerId.newContainerId(attempt, 1)
            patch.setenv("CONTAINER_ID", str(container.toString()))
            yield
        finally:
            client.killApplication(application)


def _submit(java: Java, client: Any) -> Any:
    records = java.records
    submission = client.createApplication().getApplicationSubmissionContext()
    submission.setApplicationName("contract")
    submission.setUnmanagedAM(True)
    submission.setKeepContainersAcrossApplicationAttempts(True)
    submission.setQueue("default")
    submission.setResource(records.Resource.newInstance(64, 1))
    submission.setAMContainerSpec(records.ContainerLaunchContext.newInstance({}, {}, [], {}, None, {}))
    return client.submitApplication(submission)


def _write(java: Java, token: Any, file: Path) -> None:
    credentials = java.hadoop.security.Credentials()
    credentials.addToken(token.getService(), token)
    conf = java.yarn.conf.YarnConfiguration()
    credentials.writeTokenStorageFile(java.hadoop.fs.Path(f"file://{file}"), conf)
