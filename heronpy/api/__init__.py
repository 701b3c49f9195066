"""Apache Heron's import paths for the same classes that `heronpy` has."""
