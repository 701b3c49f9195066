"""From emit() to frames on their way out: groupings, open batches, credit, and rows that wait for it.

collector.py chooses the lanes of rows, fast_lane.py does the same for one plain tuple, filling.py puts rows
into lanes, and outbox.py sends what credit allows. Begin with collector.py.
"""
