"""Storm's XOR trees: which spout tuples are done with, failed, or late.

The tree of a root lives in the spout task that emitted it. A bolt carries a tuple's part of the tree in the
tuple's own id, and sends one number per root when it acks.
"""
