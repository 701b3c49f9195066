"""The error of a definition that cannot be."""

from __future__ import annotations

from heronpy.kernel.errors import TopologyError


class DefinitionError(TopologyError, ValueError):
    """A spec or a topology class that cannot be. Also a ValueError, as Apache Heron raises here."""
