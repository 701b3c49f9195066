"""Pythons that have all that is installed here but for some packages."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

#: what a runner brings to Spark's workers, though it is installed here
TRAVELS = ("heron", "__editable__", "msgspec", "xxhash", "cloudpickle", "pluggy")


def python_without(names: tuple[str, ...], folder: Path, *paths: Path) -> str:
    """A command, with further folders on its path; Spark would put a zip of PySpark in front, which each
    worker compiles anew."""
    site, bare, script = folder / "site", folder / "bare", folder / "python"
    site.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.lower().startswith(names) and entry.suffix != ".pth":
            (site / entry.name).symlink_to(entry)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    path = ":".join(map(str, (site, *paths)))
    script.write_text(f'#!/bin/sh\nexport PYTHONPATH={path}\nexec {bare}/bin/python "$@"\n')
    script.chmod(0o755)
    return str(script)
