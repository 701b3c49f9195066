"""Runners: each runs a planned pipeline somewhere.

`local` does it in the calling process, `engine` as a topology, `spark` as a Spark job.
"""
