"""Runners: each runs a planned pipeline somewhere. `local` does it in the calling process, `spark` as a Spark job."""
