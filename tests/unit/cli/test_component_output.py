"""What `heronpy run` shows of what components print and log."""

from __future__ import annotations

from pathlib import Path

from heronpy.cli.reading.log_tail import LogFolder
from heronpy.cli.views.component_output import ComponentOutput


def write(folder: Path, name: str, *lines: str) -> None:
    with open(folder / f"{name}.log", "a") as log:
        log.writelines(f"{line}\n" for line in lines)


def test_each_line_of_a_component_comes_once_behind_its_task(tmp_path: Path) -> None:
    output = ComponentOutput(LogFolder(tmp_path))
    write(tmp_path, "count[1]", "heron 1", "heron 2")
    write(tmp_path, "count[0]", "fish 1")
    write(tmp_path, "stream-manager-1", "2026-11-17 17:36:44,858 INFO [heronpy.stream_manager.main] plan 1")
    assert list(output.new_lines()) == ["count[0] | fish 1", "count[1] | heron 1", "count[1] | heron 2"]
    assert list(output.new_lines()) == []
    write(tmp_path, "count[1]", "heron 3")
    assert list(output.new_lines()) == ["count[1] | heron 3"]


def test_what_a_component_logs_is_shown_and_what_the_engine_notes_is_not(tmp_path: Path) -> None:
    output = ComponentOutput(LogFolder(tmp_path))
    write(
        tmp_path,
        "alarm[0]",
        "2026-11-17 17:36:44,966 INFO [heronpy.instances.process.lifecycle] pid 21176 runs alarm[0]",
        "2026-11-17 17:36:45,966 WARNING [heronpy.instances.output.hold_ups] held up by sink[0]",
        "2026-11-17 17:36:49,051 INFO [alarm[0]] Lima is warm: 21.9",
        "2026-11-17 17:36:49,052 WARNING [sensors] Oslo [north] is silent",
        "2026-11-17 17:36:49,053 ERROR [heronpy.instances.process.lifecycle] process() failed",
        "  a line of its traceback",
    )
    assert list(output.new_lines()) == [
        "alarm[0] | Lima is warm: 21.9",
        "alarm[0] | WARNING Oslo [north] is silent",
        "alarm[0] | ERROR process() failed",
        "alarm[0] |   a line of its traceback",
    ]
