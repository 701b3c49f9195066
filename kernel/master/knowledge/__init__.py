"""What the Topology Master knows of its topology. No I/O and no clock; begin with board.py."""
