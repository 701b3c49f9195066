"""Apache Heron's path of `heronpy.topology`."""

from heronpy.topology import Topology, TopologyBuilder, TopologyType

__all__ = ["Topology", "TopologyBuilder", "TopologyType"]
