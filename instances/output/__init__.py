"""From emit() to frames on their way out: groupings, open batches, credit, and rows that wait for it.

collector.py chooses the lanes of a row, outbox.py sends what credit allows. Begin with collector.py.
"""
