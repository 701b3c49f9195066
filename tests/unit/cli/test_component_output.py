"""What `heronpy run` shows of what components print and log."""

from __future__ import annotations

from pathlib import Path

import pytest

from heronpy.cli.reading.log_tail import LogFolder
from heronpy.cli.views.component_output import ComponentOutput, OutputLine
from heronpy.stages.printing import BlockPrinter, blocks


def write(folder: Path, name: str, *lines: str) -> None:
    with open(folder / f"{name}.log", "a") as log:
        log.writelines(f"{line}\n" for line in lines)


def texts(output: ComponentOutput) -> list[str]:
    return [line.text for line in output.new_lines()]


def test_each_line_of_a_component_comes_once_behind_its_task(tmp_path: Path) -> None:
    output = ComponentOutput(LogFolder(tmp_path))
    write(tmp_path, "count[1]", "heron 1", "heron 2")
    write(tmp_path, "count[0]", "fish 1")
    write(tmp_path, "stream-manager-1", "2026-11-17 17:36:44,858 INFO [heronpy.stream_manager.main] plan 1")
    assert texts(output) == ["count[0] | fish 1", "count[1] | heron 1", "count[1] | heron 2"]
    assert texts(output) == []
    write(tmp_path, "count[1]", "heron 3")
    assert texts(output) == ["count[1] | heron 3"]


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
    assert texts(output) == [
        "alarm[0] | Lima is warm: 21.9",
        "alarm[0] | WARNING Oslo [north] is silent",
        "alarm[0] | ERROR process() failed",
        "alarm[0] |   a line of its traceback",
    ]


def printed(folder: Path, task: str, name: str, *lines: str) -> None:
    with open(folder / f"{task}.log", "a") as log:
        log.writelines(blocks(name, lines))


def test_records_of_a_pipeline_are_shown_once_whichever_task_prints_them_again(tmp_path: Path) -> None:
    output = ComponentOutput(LogFolder(tmp_path), printing=["printed"])
    write(tmp_path, "count[0]", "from a print() in a step")
    printed(tmp_path, "printed[0]", "a1", "('to', 2)", "2026-11-17 17:36:44,966 INFO [heronpy.x] no log line")
    write(tmp_path, "printed[0]", "2026-11-17 17:36:45,001 INFO [heronpy.instances] pid 7 runs printed[0]")
    printed(tmp_path, "printed[1]", "a1", "('to', 2)", "2026-11-17 17:36:44,966 INFO [heronpy.x] no log line")
    printed(tmp_path, "printed[1]", "b2", "('be', 2)")
    assert list(output.new_lines()) == [
        OutputLine("count[0] | from a print() in a step", "note"),
        OutputLine("('to', 2)", "record"),
        OutputLine("2026-11-17 17:36:44,966 INFO [heronpy.x] no log line", "record"),
        OutputLine("('be', 2)", "record"),
    ]


def test_what_is_not_committed_is_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer = BlockPrinter()
    writer.write(["a", "b\nc"])
    first = writer.prepare(1)
    writer.write(["lost"])
    assert capsys.readouterr().out == ""
    writer.commit(first)
    writer.abort()
    assert writer.prepare(2) == b""
    (tmp_path / "printed[0].log").write_text(capsys.readouterr().out)
    output = ComponentOutput(LogFolder(tmp_path), printing=["printed"])
    assert texts(output) == ["a", "b", "c"]


def test_a_large_block_is_written_in_parts_that_no_other_line_can_divide(tmp_path: Path) -> None:
    lines = [f"{number:06}" for number in range(20_000)]
    parts = list(blocks("c3", lines))
    assert len(parts) > 1
    assert max(map(len, parts)) < 64 * 1024
    write(tmp_path, "printed[0]", *(part + "a note" for part in parts))
    output = ComponentOutput(LogFolder(tmp_path), printing=["printed"])
    assert [line.text for line in output.new_lines() if line.kind == "record"] == lines


def test_records_that_were_gone_before_they_were_shown_are_noticed(tmp_path: Path) -> None:
    output = ComponentOutput(LogFolder(tmp_path), printing=["printed"])
    write(
        tmp_path,
        "printed[0]",
        "[printed 3 lines: a1.1]",
        "one",
        "… 512 bytes are gone (log.max_bytes, log.files)",
    )
    printed(tmp_path, "printed[0]", "b2", "four")
    assert list(output.new_lines()) == [
        OutputLine("one", "record"),
        OutputLine("printed[0] | … 512 bytes are gone (log.max_bytes, log.files)", "note"),
        OutputLine("four", "record"),
    ]
    assert output.gaps == {"printed[0]"}


def test_tasks_that_share_a_process_share_a_log(tmp_path: Path) -> None:
    output = ComponentOutput(LogFolder(tmp_path), printing=["printed"])
    write(tmp_path, "tasks-1", "2026-11-17 17:36:44,858 INFO [heronpy.instances.main] runs", "by a function")
    printed(tmp_path, "tasks-1", "a1", "('ann', 3)")
    assert list(output.new_lines()) == [
        OutputLine("tasks-1 | by a function", "note"),
        OutputLine("('ann', 3)", "record"),
    ]
