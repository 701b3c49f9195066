"""Apache Heron's import paths for components."""
