"""The state tree as folders and files of one machine, shared by its processes.

    <home>/state/            the node "/"; every node is a folder
        wordcount/           a child; it exists while it holds a value or a child
            @value           its value (record.py); @owned if it is ephemeral
        @lock                held with flock by the process that changes the tree
        @version             the last version given to any node
        @sessions/<id>       one per process that owns ephemeral nodes, held with flock while it lives
        @spare               a block of room for a value that is changed when the disk is full
        @tmp/                what is being built or torn down; empty while the tree is not being changed

The folders are the state that every reader sees: a change is one rename into or out of the tree, so
readers take no lock and see all of a change or nothing of it. A dead owner's nodes leave the same way,
removed by the first process that notices.
"""
