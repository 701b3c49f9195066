"""docs/damage.md: what each reader does with each node that is there, missing or damaged, on a local disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.faults.damage import DISK_DAMAGES, damage_node
from support.faults.damage_table import Stand, check_table, rows

from heronpy.kernel.config import load_config
from heronpy.kernel.plugin.state_manager import StateManager
from heronpy.kernel.tree.damage import OF_COMMANDS, OF_CONTAINERS, REPORTS, TRUTH, damaged_nodes


@pytest.mark.parametrize("kind", DISK_DAMAGES)
def test_each_reader_does_what_the_table_says(state: StateManager, tmp_path: Path, kind: str) -> None:
    config = load_config(environ={}, flags={"home": str(tmp_path)})
    check_table(Stand(state, config), lambda path: damage_node(tmp_path, path, kind))


def test_no_node_is_forgotten() -> None:
    known = {each.name for each in (*TRUTH, *REPORTS, *OF_CONTAINERS, *OF_COMMANDS)}
    # of these only the owner reads, or the readers are those of a node beside it
    alike = {"keeper": "scheduler", "scheduler_pulse": "pulse", "metrics_manager": "stream_manager"}
    assert {alike.get(name, name) for name in known} == {row.node for row in rows()} - {"all of them"}


def test_each_damaged_node_has_a_line_with_what_to_do(state: StateManager, tmp_path: Path) -> None:
    for kind in (*TRUTH, *REPORTS):
        state.set(f"/words/{kind.name}", b"{}")
        damage_node(tmp_path, f"/words/{kind.name}", "emptied")
    for kind in OF_CONTAINERS:
        state.set(f"/words/containers/2/{kind.name}", b"{}")
        damage_node(tmp_path, f"/words/containers/2/{kind.name}", "emptied")
    lines = damaged_nodes(state, "words")
    assert len(lines) == len((*TRUTH, *REPORTS, *OF_CONTAINERS))
    assert lines[7] == (
        "damaged  live in the state tree (its checksum differs): the topology master or a stream manager"
        " writes it again;"
        " if it stays so: heronpy activate words, or heronpy deactivate words"
    )
    assert lines[-2].startswith("damaged  pulse of container 2 in the state tree (its checksum differs): ")
