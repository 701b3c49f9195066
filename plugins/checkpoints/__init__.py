"""Checkpoint stores: where snapshots and manifests are kept. Folders, and all that fsspec reaches."""
