"""State managers: where the state tree is stored. Folders on a disk, and ZooKeeper."""
