"""A Python for Spark's workers that has what PySpark wants for Arrow, and nothing of heronpy."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

#: what must travel, though it is installed here
_TRAVELS = ("heron", "__editable__", "msgspec", "xxhash", "cloudpickle", "pluggy")


def workers_python(folder: Path) -> str:
    """A command; Spark would put a zip of PySpark in front, which each worker compiles anew."""
    site, bare, script = folder / "site", folder / "bare", folder / "python"
    site.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.lower().startswith(_TRAVELS) and entry.suffix != ".pth":
            (site / entry.name).symlink_to(entry)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    script.write_text(f'#!/bin/sh\nexport PYTHONPATH={site}\nexec {bare}/bin/python "$@"\n')
    script.chmod(0o755)
    return str(script)
