"""Reading what exists: topologies, their status over open connections, their logs, their checkpoints."""
