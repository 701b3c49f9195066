"""Apache Heron's import paths for bolts."""
