"""What a file defines while it is loaded: topologies that it submits, pipelines that it makes."""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heronpy.pipeline.pipeline import Pipeline
    from heronpy.topology import Topology


class Submissions:
    """What this process does with a submitted topology."""

    def __init__(self) -> None:
        self.collected: list[type[Topology]] | None = None
        self.ignored = False
        #: the pipelines of the file that is or was loaded, as its steps were written
        self.pipelines: list[Pipeline] = []
        #: pipeline → the line at the top level of the file that made it; 0 if another file did
        self.made_at: dict[Pipeline, int] = {}

    @property
    def loading(self) -> bool:
        """Whether this process only loads files: what they submit or run does not start here."""
        return self.ignored or self.collected is not None

    def made(self, pipeline: Pipeline) -> None:
        """A pipeline submits itself, with the steps that it will have when its file has been loaded."""
        if self.loading:
            self.pipelines.append(pipeline)
            self.made_at[pipeline] = _line_of_main()

    def collect(self) -> list[type[Topology]]:
        """Collect submitted topologies from now on, in the list that is returned; and pipelines."""
        self.collected, self.pipelines, self.made_at = [], [], {}
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


def _line_of_main() -> int:
    """The line of the main file that is being run."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename == file:
            return frame.f_lineno
        frame = frame.f_back
    return 0


submissions = Submissions()
