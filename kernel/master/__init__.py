"""The Topology Master: writes the physical plan, follows every process, answers what `status` asks.

main.py is the process and coordinator.py decides which of its duties comes next. knowledge/ is what it
knows, without I/O; updating/, checkpointing/, restoring/ and rebuilding/ each have decide.py (pure) and
act.py (carries the decision out through repository.py). Begin with main.py.
"""
