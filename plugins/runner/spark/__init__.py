"""The runner `spark`: a bounded pipeline as one Spark job, on this machine, a standalone cluster or Connect.

On the driver: runner.py begins; refusals.py says what is not carried, layout.py cuts the plan into chains,
shipping.py packs code and plan, session.py opens Spark, job.py makes DataFrames of the chains, commits.py
commits. In Spark's Python workers: carrier.py is what Spark calls, chain_worker.py runs the stages.
"""
