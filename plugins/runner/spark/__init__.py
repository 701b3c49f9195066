"""The runner `spark`: a bounded pipeline as one Spark job, on this machine, a standalone cluster or Connect.

Begin with runner.py. refusals.py says what is not carried, layout.py cuts the plan into chains of stages,
shipping.py and shipped_plan.py pack code and plan, session.py opens Spark, job.py makes DataFrames of the
chains, commits.py commits. What runs in Spark's Python workers is in worker/.
"""
