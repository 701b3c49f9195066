"""A Spark session for the pipelines of one run: an application with a JVM of ours, or a Connect server's."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from heronpy.kernel.errors import UserError
from heronpy.plugins.runner.spark.java_output import what_java_says
from heronpy.plugins.runner.spark.settings import SESSION, JobSettings
from heronpy.plugins.scheduler.spark.reasons import reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: seconds after which a wait for executors is said
PATIENCE = 10.0


class OpenSession:
    """Opened by the first pipeline. What it leaves on this machine's disk is in `folder`."""

    def __init__(self, settings: JobSettings, pipeline: str) -> None:
        self._settings = settings
        #: whether the JVM of this process is ours to end
        self._has_jvm = False
        self.folder = Path(tempfile.mkdtemp(prefix="heronpy-spark-"))
        try:
            if settings.classic is None:
                self.spark = self._connected()
                self._configure()
            else:
                self.spark = self._started(pipeline)
        except BaseException:
            self.close()
            raise

    @functools.cached_property
    def slots(self) -> int:
        """How many tasks Spark can run at once."""
        if self._settings.classic is None:
            from pyspark.sql.functions import spark_partition_id

            return int(self.spark.range(0, 10_000).select(spark_partition_id()).distinct().count())
        with contextlib.nullcontext() if self._settings.local else self._patient():
            self.spark.range(1).count()  # waits for executors
        return int(self.spark.sparkContext.defaultParallelism)

    def stop(self) -> None:
        """End everything that runs for it, at once."""
        spark: SparkSession | None = getattr(self, "spark", None)
        if self._settings.classic is None:
            if spark is not None:
                with contextlib.suppress(Exception):  # the server may have gone
                    spark.interruptAll()
                with contextlib.suppress(Exception):
                    spark.stop()
        elif self._has_jvm:
            from pyspark.sql import SparkSession

            from heronpy.plugins.scheduler.spark.driver import end_jvm

            self._has_jvm = False
            if spark is not None:
                spark.sparkContext._accumulatorServer.shutdown()  # else it complains of a JVM that is gone
            end_jvm()  # Spark ends the application with its JVM
            # as its own stop() does: the next session would be taken for one of this JVM
            SparkSession._instantiatedSession = SparkSession._activeSession = None

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def _patient(self) -> Iterator[None]:
        """A wait for executors, which is said if it is long."""
        timer = threading.Timer(PATIENCE, self._say_it_waits)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _say_it_waits(self) -> None:
        with contextlib.suppress(Exception):  # the JVM may have gone
            block_managers = self.spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()
            if block_managers == 1:  # the driver's
                text = "none is free, or they ask for too much memory"
                print(f"waits for executors of {self._settings.place}: {text}", file=sys.stderr, flush=True)

    def _connected(self) -> SparkSession:
        from pyspark.sql import SparkSession

        try:
            with warnings.catch_warnings():  # of settings that only a server's start can change
                warnings.simplefilter("ignore")
                return SparkSession.builder.remote(self._settings.master).create()
        except Exception as error:
            raise self._no_session(error) from error

    def _configure(self) -> None:
        with warnings.catch_warnings():  # of settings that only a server's start can change
            warnings.simplefilter("ignore")
            try:
                for key, value in SESSION.items():
                    self.spark.conf.set(key, value)
            except Exception as error:
                raise self._no_session(error) from error
            for key, value in self._settings.conf.items():
                try:
                    self.spark.conf.set(key, value)
                except Exception as error:
                    said = " ".join(reason(str(error)).split())
                    msg = f"the Spark Connect server does not let a session set {key}: {said}"
                    hint = "set it where the server is started, and not in scheduler.spark.conf"
                    raise UserError(msg, hint=hint) from error

    def _no_session(self, error: Exception) -> UserError:
        said = " ".join(reason(str(error)).split()).replace(self._settings.master, self._settings.place)
        msg = f"no session at {self._settings.place}: {said}"
        return UserError(msg, hint="check the address, and the token if it has one")

    def _started(self, pipeline: str) -> SparkSession:
        """In a JVM of its own, with SIGINT as it was: PySpark would take it."""
        from pyspark import SparkConf, SparkContext
        from pyspark.sql import SparkSession

        local_dirs = os.environ.get("SPARK_LOCAL_DIRS")
        os.environ["SPARK_LOCAL_DIRS"] = str(self.folder)
        if self._settings.local:
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_REMOTE"):
            os.environ.pop(name, None)
        conf = self._settings.application(pipeline, self.folder)
        self._has_jvm = True
        on_interrupt = signal.getsignal(signal.SIGINT)
        try:
            with what_java_says():
                context = SparkContext(conf=SparkConf(loadDefaults=False).setAll(list(conf.items())))
        except Exception as error:
            said = " ".join(reason(str(error)).split())
            msg = f"Spark did not start an application at {self._settings.place}: {said}"
            raise UserError(msg, hint="check scheduler.spark.master and scheduler.spark.conf") from error
        finally:
            signal.signal(signal.SIGINT, on_interrupt)
            # the JVM has it; a Spark that the user starts later would make our folder again
            del os.environ["SPARK_LOCAL_DIRS"]
            if local_dirs is not None:
                os.environ["SPARK_LOCAL_DIRS"] = local_dirs
        if self._settings.python or self._settings.local:
            context.pythonExec = self._settings.python or sys.executable
        return SparkSession(context)
