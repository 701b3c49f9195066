"""Apache Heron's generators of made-up elements, for its streamlets."""
