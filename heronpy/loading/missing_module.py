"""What to try when a topology file imports a module that is not found."""

from __future__ import annotations

from pathlib import Path

#: packages of other engines → what takes their place
_PORTED = "from heronpy import Bolt, Spout, Topology, see docs/coming-from.md"
ELSEWHERE = {
    "heronpy.streamlet": "spouts and bolts: there is no Streamlet API, see docs/migrating-from-heron.md",
    "heronpy": "see docs/migrating-from-heron.md for the modules of Apache Heron that there are",
    "streamparse": f"{_PORTED}: streamparse is for Storm",
    "pystorm": f"{_PORTED}: pystorm is for Storm",
}


def remedy(error: BaseException, file: str) -> str:
    """A hint for a ModuleNotFoundError of this topology file; empty for other errors.

    A script sees its own folder and PYTHONPATH, not the folder that it is started from, nor those above it.
    """
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return ""
    for package, instead in ELSEWHERE.items():
        if error.name == package or error.name.startswith(f"{package}."):
            return instead
    top = error.name.split(".")[0]
    for folder in (Path(), *Path(file).parents):
        if (folder / top).is_dir() or (folder / f"{top}.py").is_file():
            return f"PYTHONPATH={folder} heronpy submit …"
    return f"PYTHONPATH=FOLDER heronpy submit …, with the folder that has {top}, or pip install what has it"
