"""Before the zygote forks, no free block lies between others: new objects lie side by side."""

from __future__ import annotations

import pytest

from heronpy.container.processes.zygote import fill_gaps

PAGE = 4096


def pages(objects: list[bytes]) -> int:
    return len({id(each) // PAGE for each in objects})


@pytest.mark.parametrize("size", [48, 64, 112, 512])
def test_new_objects_lie_side_by_side_though_there_were_gaps_everywhere(size: int) -> None:
    many = [bytes(size - 33) for _ in range(20_000)]
    kept = many[:: PAGE // size + 1]  # less than one on each page
    many.clear()
    plugs = fill_gaps()
    made = [bytes(size - 33) for _ in range(500)]
    assert pages(made) <= 1.5 * 500 * size / PAGE + 4
    assert len(plugs) > len(kept)
