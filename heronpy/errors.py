"""The error of an invalid definition."""

from __future__ import annotations

from heronpy.kernel.errors import TopologyError


class DefinitionError(TopologyError, ValueError):
    """An invalid spec or topology class. Also a ValueError, as Apache Heron raises here."""
