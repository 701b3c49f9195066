"""The state tree in a ZooKeeper ensemble, shared by the processes of many machines.

    <root>/                  the node "/" (`state.zookeeper.root`)
        wordcount            a node; one without a value (no data at all) only leads to others
        @guard               its version is raised by whatever creates a node (writing.py)
        @parts/wordcount/    pieces of the values that are too large for one znode

A node's version is the transaction that wrote it last, which never comes back. Reads ask the leader to be
overtaken first, so that a read after a write sees it, whichever server each client is connected to.
"""
