"""A process that owns one ephemeral node until it is killed: `… MODULE:CLASS PATH < config.json`."""

from __future__ import annotations

import importlib
import json
import sys
import threading

from heronpy.kernel.config import Config


def main(class_name: str, path: str) -> None:
    """Create the node, say so with a line on stdout, and stay."""
    module, _, name = class_name.partition(":")
    manager = getattr(importlib.import_module(module), name)()
    manager.initialize(Config.from_plain(json.load(sys.stdin)))
    manager.create(path, b"owned", ephemeral=True)
    print("owned", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
