"""Runners: each runs a planned pipeline somewhere: in the calling process, on the engine, as a Spark job."""

`local` does it in the calling process, `engine` as a topology, `spark` as a Spark job.
"""
