"""The Spark application of one topology: a JVM beside this process, and one job for each container."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext, cloudpickle
from pyspark.resource import ExecutorResourceRequests, ResourceProfileBuilder, TaskResourceRequests
from pyspark.util import InheritableThread

from heronpy.kernel.errors import UserError
from heronpy.kernel.machine.private import make_private
from heronpy.kernel.machine.processes import process
from heronpy.kernel.plans import Resources
from heronpy.kernel.plugin.scheduler import HOPELESS
from heronpy.plugins.scheduler.spark import task
from heronpy.plugins.scheduler.spark.reasons import is_hopeless, reason
from heronpy.plugins.scheduler.spark.settings import SparkSettings, executor_size

log = logging.getLogger(__name__)

# executors have no heronpy: what runs there travels with its code
cloudpickle.register_pickle_by_value(task)  # type: ignore[no-untyped-call]

#: seconds between two checks whether Spark has ended the application
LOOK_EVERY = 1.0

#: how long the JVM may take to end
END_SECONDS = 10.0


class Driver:
    """Lives as long as the topology's containers: they end with it. There is one in a process."""

    def __init__(
        self,
        settings: SparkSettings,
        topology: str,
        python: str,
        scratch: Path,
        on_loss: Callable[[], None],
    ) -> None:
        """Spark's temporary files are in a folder of its own in `scratch`; what dead ones left there goes."""
        self._topology = topology
        self._settings = settings
        self._shipped: set[str] = set()
        self._profiles: dict[tuple[int, int], Any] = {}
        self._over = threading.Event()
        self._on_loss = on_loss
        self._scratch = _own_folder(scratch)
        self._context = _start(settings, topology, self._scratch)
        self._jvm: subprocess.Popen[bytes] = SparkContext._gateway.proc  # type: ignore[union-attr]
        chosen = settings.conf.get("spark.pyspark.python") or python
        if chosen or settings.local:
            self._context.pythonExec = chosen or sys.executable
        self._watcher = threading.Thread(target=self._look, name="spark-look", daemon=True)
        self._watcher.start()

    @property
    def ui(self) -> str:
        """Address of Spark's own page about the application; empty if it is off."""
        return self._context.uiWebUrl or ""

    @property
    def lost(self) -> str:
        """Why there is no application any more, in one line; empty while it runs."""
        if (status := self._jvm.poll()) is not None:
            how = f"signal {-status}" if status < 0 else f"exit {status}"
            return f"the JVM of Spark's driver ended ({how})"
        try:
            stopped = self._context._jsc.sc().isStopped()
        except Exception as error:  # whatever Py4J raises when the JVM is ending
            return f"the JVM of Spark's driver does not answer: {reason(str(error))}"
        return "Spark has ended the application" if stopped else ""

    def executors(self) -> int:
        """How many there are."""
        # the driver is among those that have memory
        return int(self._context._jsc.sc().getExecutorMemoryStatus().size()) - 1

    def slots(self) -> int:
        """How many tasks can run at once on the executors that are here."""
        scala: Any = self._context._jsc.sc()
        default = scala.resourceProfileManager().defaultResourceProfile()
        return int(scala.maxNumConcurrentTasks(default))

    def ship(self, location: str) -> str:
        """Have a file or URL brought to every executor; returns its name among Spark's files."""
        if location not in self._shipped:
            self._context.addFile(location)
            self._shipped.add(location)
        return Path(location).name

    def run(
        self,
        start: int,
        container: int,
        order: task.Order,
        size: Resources,
        on_end: Callable[[task.End], None],
    ) -> None:
        """Submit a container's job, and call `on_end` from another thread when it is over."""
        data = self._context.parallelize([order], 1)
        if self._settings.dynamic:
            data = data.withResources(self._profile(size))

        def job() -> None:
            try:
                self._context.addJobTag(_tag(start))
                self._context.setJobDescription(f"container {container} of {self._topology}")
                [end] = data.map(task.run).collect()
            except Exception as error:  # Spark's own, Py4J's, or what came with the task: all are its end
                why = reason(str(error))
                end = task.End(HOPELESS if is_hopeless(why) else None, why)
            on_end(end)

        InheritableThread(target=job, name=f"spark-container-{container}", daemon=True).start()

    def cancel(self, start: int) -> None:
        with contextlib.suppress(Exception):  # without an application there is nothing to cancel
            self._context.cancelJobsWithTag(_tag(start))

    def stop(self) -> None:
        """End the application and its JVM, and all that runs there."""
        self._over.set()
        self._watcher.join()
        if self._jvm.poll() is None:
            with contextlib.suppress(Exception):
                self._context.stop()
        end_jvm()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _look(self) -> None:
        while not self._over.wait(LOOK_EVERY):
            if self.lost:
                self._on_loss()
                return

    def _profile(self, size: Resources) -> Any:
        cores, megabytes = wanted = executor_size(size)
        if wanted not in self._profiles:
            executor = ExecutorResourceRequests().cores(cores).memory(f"{megabytes}m")
            builder = ResourceProfileBuilder().require(executor).require(TaskResourceRequests().cpus(cores))
            self._profiles[wanted] = builder.build
        return self._profiles[wanted]


def _own_folder(scratch: Path) -> Path:
    """Another driver of the topology may still be about to end, in one of its own."""
    make_private(scratch)
    for left in scratch.iterdir():
        if (owner := process(int(left.name))) is None or not owner.alive:
            shutil.rmtree(left, ignore_errors=True)
    own = scratch / str(os.getpid())
    own.mkdir(mode=0o700, exist_ok=True)
    return own


def _start(settings: SparkSettings, topology: str, scratch: Path) -> SparkContext:
    """A context, with SIGINT as it was: PySpark would take it."""
    # by its name in the environment: as a setting, executors elsewhere would follow it, too
    os.environ["SPARK_LOCAL_DIRS"] = str(scratch)
    try:
        os.getcwd()
    except FileNotFoundError:  # no JVM starts in a folder that is gone
        os.chdir(scratch)
    conf = settings.application(topology)
    options = settings.conf.get("spark.driver.extraJavaOptions", "")
    conf["spark.driver.extraJavaOptions"] = f'"-Djava.io.tmpdir={scratch}" {options}'
    on_interrupt = signal.getsignal(signal.SIGINT)
    # a JVM of its own: another, as in a notebook, would not end with the driver
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_REMOTE"):
        os.environ.pop(name, None)
    try:
        return SparkContext(conf=SparkConf(loadDefaults=False).setAll(list(conf.items())))
    except Exception as error:
        end_jvm()
        msg = f"Spark did not start an application at {conf['spark.master']}: {reason(str(error))}"
        raise UserError(msg, hint="read the end of scheduler.log") from error
    finally:
        signal.signal(signal.SIGINT, on_interrupt)


def end_jvm() -> None:
    """PySpark would keep it for the next context."""
    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    if gateway is None:
        return
    with contextlib.suppress(Exception):  # it may have gone before
        gateway.shutdown()
    jvm: subprocess.Popen[bytes] = gateway.proc
    assert jvm.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        jvm.stdin.close()  # its lifeline
    try:
        jvm.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        jvm.kill()
        jvm.wait()


def _tag(start: int) -> str:
    return f"heronpy-{start}"
