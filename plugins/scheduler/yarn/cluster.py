"""The ResourceManager for processes that are not the ApplicationMaster: submit, find, kill."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from heronpy.kernel.config import Config
from heronpy.kernel.errors import TimedOut, UserError, did_you_mean
from heronpy.kernel.plans import PackingPlan
from heronpy.plugins.scheduler.yarn.contexts import wanted
from heronpy.plugins.scheduler.yarn.diagnostics import last_words
from heronpy.plugins.scheduler.yarn.hadoop import AT_A_TERMINAL, configuration, folder_of
from heronpy.plugins.scheduler.yarn.java import Java, client_jars, said

#: the type of heronpy's applications, in the cluster's list of all
TYPE = "heronpy"

#: seconds between two looks at an application
_LOOK = 0.2

_ENDED = ("FINISHED", "FAILED", "KILLED")


class Cluster:
    """A connection to the ResourceManager."""

    def __init__(self, config: Config) -> None:
        self.queue = config.text("scheduler.yarn.queue")
        self.jars = client_jars()
        self.folder = folder_of(config)
        self.java = Java([*([self.folder] if self.folder else []), *self.jars], quiet=True)
        self.conf = configuration(self.java, config, AT_A_TERMINAL)
        self._client = self.java.yarn.client.api.YarnClient.createYarnClient()
        self._client.init(self.conf)
        self._client.start()

    def close(self) -> None:
        self.java.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def check(self, plan: PackingPlan) -> None:
        """Whether the topology can run here at all, and now."""
        largest = self._new().getNewApplicationResponse().getMaximumResourceCapability()
        most = int(largest.getMemorySize()), int(largest.getVirtualCores())
        sizes = {container.id: wanted(container.resources) for container in plan.containers}
        for container, (memory, cores) in sizes.items():
            if memory > most[0] or cores > most[1]:
                msg = (
                    f"container {container} needs {memory} MB and {cores} cores, and the largest that this"
                    f" cluster gives has {most[0]} MB and {most[1]} cores"
                )
                raise UserError(msg, hint="use more containers, or give each component less")
        self._check_queue(sum(memory for memory, _ in sizes.values()))

    def submit(self, name: str, tag: str, context: Any, resource: Any, attempts: int, forget: float) -> Any:
        """Start an ApplicationMaster; its application. After so many failures within `forget` it ends."""
        submission = self._new().getApplicationSubmissionContext()
        submission.setApplicationName(name)
        submission.setApplicationType(TYPE)
        submission.setApplicationTags({tag})
        submission.setQueue(self.queue)
        submission.setResource(resource)
        submission.setAMContainerSpec(context)
        submission.setKeepContainersAcrossApplicationAttempts(True)
        submission.setMaxAppAttempts(attempts)
        submission.setAttemptFailuresValidityInterval(int(forget * 1000))
        try:
            return self._client.submitApplication(submission)
        except Exception as error:
            msg = f"YARN refuses the application: {said(error)}"
            raise UserError(msg) from error

    def wait_for_master(self, application: Any, timeout: float) -> None:
        """Return when the ApplicationMaster has registered; else end the application and raise the reason."""
        deadline = time.monotonic() + timeout
        try:
            while (state := self._state(application)) != "RUNNING":
                if state in _ENDED or self._attempt(application).getAttemptId() > 1:
                    msg = f"the ApplicationMaster does not start: {self._why(application)}"
                    raise UserError(msg)
                if time.monotonic() > deadline:
                    msg = f"YARN has not started the ApplicationMaster: {self._why(application)}"
                    raise TimedOut(msg, hint=f"use a queue with room in place of {self.queue!r}")
                time.sleep(_LOOK)
        except BaseException:
            self._client.killApplication(application)
            raise

    def identity(self) -> dict[str, str]:
        """This process's Hadoop user, as environment for processes that must act as the same user."""
        user = self.java.hadoop.security.UserGroupInformation.getCurrentUser()
        return {"HADOOP_USER_NAME": str(user.getShortUserName())}

    def find(self, tag: str) -> list[Any]:
        """Ids of the applications with this tag that have not ended."""
        try:
            reports = self._client.getApplications({TYPE})
        except Exception as error:
            raise self._no_answer(error) from error
        return [
            report.getApplicationId()
            for report in reports
            if tag in report.getApplicationTags() and _name(report) not in _ENDED
        ]

    def kill(self, tag: str) -> None:
        """End every application with this tag; returns when they have."""
        applications = self.find(tag)
        for each in applications:
            self._client.killApplication(each)
        while any(self._state(each) not in _ENDED for each in applications):
            time.sleep(_LOOK)

    def _new(self) -> Any:
        try:
            return self._client.createApplication()
        except Exception as error:
            raise self._no_answer(error) from error

    def _no_answer(self, error: Exception) -> UserError:
        address = self.conf.get("yarn.resourcemanager.address")
        msg = f"no ResourceManager of YARN answers at {address}: {said(error)}"
        hint = "set scheduler.yarn.conf (or HADOOP_CONF_DIR) to a folder with the cluster's yarn-site.xml"
        return UserError(msg, hint=hint)

    def _check_queue(self, memory: int) -> None:
        found = self._client.getQueueInfo(self.queue)
        if found is None:
            known = [str(each.getQueueName()) for each in self._client.getAllQueues()]
            msg = f"YARN has no queue {self.queue!r}{did_you_mean(self.queue, known)}"
            raise UserError(msg, hint="--set scheduler.yarn.queue=NAME")
        state = str(found.getQueueState().toString())
        if state != "RUNNING":
            msg = f"YARN's queue {self.queue!r} is {state} and takes no applications"
            raise UserError(msg, hint="--set scheduler.yarn.queue=NAME")
        statistics = found.getQueueStatistics()
        if statistics is not None and 0 <= int(statistics.getAvailableMemoryMB()) < memory:
            msg = (
                f"YARN's queue {self.queue!r} is too full: {statistics.getAvailableMemoryMB()} MB are free,"
                f" and the containers need {memory} MB"
            )
            raise UserError(msg, hint="retry later, use another queue, or give each component less")

    def _report(self, application: Any) -> Any:
        return self._client.getApplicationReport(application)

    def _state(self, application: Any) -> str:
        return _name(self._report(application))

    def _attempt(self, application: Any) -> Any:
        return self._report(application).getCurrentApplicationAttemptId()

    def _why(self, application: Any) -> str:
        """What is known of the first attempt, or of the application as long as there is none."""
        records = self.java.records
        first = records.ApplicationAttemptId.newInstance(application, 1)
        texts = [self._report(application).getDiagnostics()]
        for report in self._client.getApplicationAttempts(application):
            if report.getApplicationAttemptId().equals(first):
                texts.insert(0, report.getDiagnostics())
        found = [last_words(text or "") for text in texts]
        lines = [(text or "").strip().partition("\n")[0] for text in texts]
        return next(filter(None, [*found, *lines]), "it does not say why")


def _name(report: Any) -> str:
    return str(report.getYarnApplicationState().toString())


def files_of(folder: Path | None, names: Iterable[str]) -> list[Path]:
    """The files that exist in the folder."""
    return [folder / name for name in names if (folder / name).is_file()] if folder else []
