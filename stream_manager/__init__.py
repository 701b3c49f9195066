"""The forwarder of one container: reads a frame's prefix, never its payload."""
