"""What a topology saves of itself: the node that says so, and what is in the checkpoint store."""
