"""The bill of materials of a wheel, in CycloneDX: what it needs, in the versions that it was tested with.

`make wheel` writes it beside the wheel. The lock file has the hashes of all files of these versions.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

DISTRIBUTION = "heron-py"
LOCK = Path(__file__).parent / "ci.lock"
SPEC = "1.6"


def locked(text: str) -> dict[str, str]:
    """Name → version of each requirement in a lock file."""
    return {
        str(canonicalize_name(name)): version for name, version in re.findall(r"(?m)^([\w.-]+)==(\S+)", text)
    }


def bill(distribution: str, versions: dict[str, str], wheel: Path) -> dict[str, Any]:
    """The whole document; the same wheel and lock file give the same bytes."""
    extras = importlib.metadata.metadata(distribution).get_all("Provides-Extra") or []
    required = _closure(distribution, [""])
    needs = _closure(distribution, ["", *extras])
    names = sorted(set(needs) - {distribution})
    checksum = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPEC}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPEC,
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_OID, f"{checksum} {sorted(versions.items())}").urn,
        "version": 1,
        "metadata": {
            "component": {
                **_component(distribution, importlib.metadata.version(distribution)),
                "hashes": [{"alg": "SHA-256", "content": checksum}],
            }
        },
        "components": [
            {**_component(name, versions[name]), "scope": "required" if name in required else "optional"}
            for name in names
        ],
        "dependencies": [
            {"ref": _purl(name, versions), "dependsOn": sorted(_purl(need, versions) for need in needs[name])}
            for name in [distribution, *names]
        ],
    }


def _closure(distribution: str, extras: list[str]) -> dict[str, set[str]]:
    """Every distribution that is needed, with what it needs itself."""
    found: dict[str, set[str]] = {}
    waiting = [(distribution, extras)]
    while waiting:
        name, wanted = waiting.pop()
        if name in found:
            continue
        needs = list(_needs(name, wanted))
        found[name] = {need for need, _extras in needs}
        waiting += needs
    return found


def _needs(distribution: str, extras: list[str]) -> Iterator[tuple[str, list[str]]]:
    for line in importlib.metadata.requires(distribution) or []:
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
            yield str(canonicalize_name(requirement.name)), ["", *requirement.extras]


def _component(name: str, version: str) -> dict[str, Any]:
    purl = f"pkg:pypi/{name}@{version}"
    component = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    licence = _licence(importlib.metadata.metadata(name))
    return {**component, "licenses": [licence]} if licence else component


def _licence(metadata: Any) -> dict[str, Any]:
    if expression := metadata.get("License-Expression"):
        return {"expression": expression}
    classified = [text for text in metadata.get_all("Classifier") or [] if text.startswith("License ::")]
    return {"license": {"name": classified[0].rpartition(" :: ")[2]}} if classified else {}


def _purl(name: str, versions: dict[str, str]) -> str:
    version = versions.get(name) or importlib.metadata.version(name)
    return f"pkg:pypi/{name}@{version}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="has the wheel, and gets the document")
    folder: Path = parser.parse_args().folder
    stem = f"{DISTRIBUTION.replace('-', '_')}-{importlib.metadata.version(DISTRIBUTION)}"
    document = bill(DISTRIBUTION, locked(LOCK.read_text()), next(folder.glob(f"{stem}-*.whl")))
    (folder / f"{stem}.cdx.json").write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
