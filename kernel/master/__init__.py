"""The Topology Master: writes the physical plan, follows every process, answers what `status` asks.

main.py is the process and coordinator.py decides which of its duties comes next. knowledge/ is what it
knows, without I/O; updating/, checkpointing/, restoring/ and damaged_nodes/ each have decide.py (pure)
and act.py, which carries the decision out through master_state.py. Begin with main.py.
"""
