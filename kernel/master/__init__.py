"""The Topology Master: writes the physical plan, knows who is there, answers what `status` asks."""
