"""Apache Heron's path of `heronpy.global_metrics`."""

from heronpy.global_metrics import incr, init, metrics_container, root_name, safe_incr

__all__ = ["incr", "init", "metrics_container", "root_name", "safe_incr"]
