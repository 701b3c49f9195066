"""One module for each verb of `heronpy`, with its options, its help and its `command`."""
