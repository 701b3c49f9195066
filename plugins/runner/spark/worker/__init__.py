"""What runs in Spark's Python workers, and what they exchange with each other and with the driver.

Begin with carrier.py, which Spark calls; chain_worker.py runs the stages of a chain.
"""
