"""Apache Heron's import paths for spouts."""
