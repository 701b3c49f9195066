"""Schedulers: where containers run. This machine, Spark, YARN; each in a folder of its own."""
