"""Apache Heron's import paths for state."""
