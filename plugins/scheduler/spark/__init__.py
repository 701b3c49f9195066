"""Containers as long-lived tasks of a Spark application."""

from heronpy.plugins.scheduler.spark.scheduler import SparkScheduler

__all__ = ["SparkScheduler"]
