"""What a task saves and begins with: snapshots, task state, rows that wait for credit, open transactions.

Begin with snapshot.py; state/ is what the user sees as `self.state`.
"""
