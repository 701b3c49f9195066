"""Apache Heron's generator of the lines of files, for its streamlets."""
