"""The Metrics Manager: collects the numbers of one container and passes them on."""
