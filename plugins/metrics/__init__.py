"""Metric sinks: where samples go. Files of JSON lines, and an endpoint that Prometheus reads."""
