"""Before the zygote forks, no free block lies between others: new objects lie side by side."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PAGE = 4096

#: in a process of its own, whose memory no test before has used: a gap on each of many pages, then how many
#: pages new objects lie on, before the gaps are filled and after
GAPS = """
import json, sys
from heronpy.container.processes.zygote import fill_gaps

size, empty = int(sys.argv[1]), sys.getsizeof(b"")
many = [bytes(size - empty) for _ in range(400_000 // size)]
del many[:: 4096 // size + 1]
scattered = [bytes(size - empty) for _ in range(50)]
plugs = fill_gaps()
dense = [bytes(size - empty) for _ in range(500)]
print(json.dumps([len({id(each) // 4096 for each in some}) for some in (scattered, dense)]))
"""


@pytest.mark.parametrize("size", [48, 64, 112, 512])
def test_new_objects_lie_side_by_side_though_there_were_gaps_everywhere(size: int) -> None:
    command = [sys.executable, "-c", GAPS, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    scattered, dense = json.loads(done.stdout)
    assert scattered > 40
    assert dense <= 1.5 * 500 * size / PAGE + 4
