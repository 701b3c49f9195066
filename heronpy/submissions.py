"""What `build_and_submit()` and `write()` do: pass the topology to the loading process, or nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heronpy.topology import Topology


class Submissions:
    """What this process does with a submitted topology."""

    def __init__(self) -> None:
        self.collected: list[type[Topology]] | None = None
        self.ignored = False

    def collect(self) -> list[type[Topology]]:
        """Collect submitted topologies from now on, in the list that is returned."""
        self.collected = []
        return self.collected

    def ignore(self) -> None:
        """Make submitting a no-op: this process runs one part of a topology."""
        self.ignored = True

    def submit(self, topology: type[Topology]) -> None:
        if self.ignored:
            return
        if self.collected is not None:
            self.collected.append(topology)
            return
        file = sys.argv[0] if sys.argv and sys.argv[0] else "FILE.py"
        print(  # the file was run by hand, outside any loader
            f"{topology.topology_name} is defined; to run it: heronpy submit {file}", file=sys.stderr
        )


submissions = Submissions()
