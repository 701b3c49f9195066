"""Apache Heron's functional API, with its import paths: streamlets, which become the steps of a pipeline.

A streamlet only remembers how it is made. `Runner.run` adds a step to a pipeline for each (`impl/`), and any
runner takes it from there. Begin with streamlet.py and builder.py.
"""
