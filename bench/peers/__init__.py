"""Other engines that count the same words, each in an environment of its own below build/peers."""
