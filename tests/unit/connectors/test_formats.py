"""JSON lines, CSV, Parquet and rate: what records look like, and what is said of those that are none."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heronpy.connectors import Source
from heronpy.connectors.files.csv_rows import CsvSource
from heronpy.connectors.files.json_lines import JsonLineSource
from heronpy.connectors.files.parquet import ParquetSource
from heronpy.connectors.rate import RateReader, RateSource
from heronpy.errors import DefinitionError
from heronpy.kernel.errors import UserError
from heronpy.testing import Clock
from heronpy.testing.contracts.source import beginning, read


class Trip(msgspec.Struct):
    zone: str
    fare: float
    riders: int = 1


@dataclass
class Stop:
    zone: str
    fare: float


def records(source: Source[Any], positions: dict[str, Any] | None = None) -> list[Any]:
    with closing(source.open()) as reader:
        chunks = read(source, reader, positions or beginning(source), 100)
    return [record for chunk in chunks for record in chunk.records]


def test_json_values_are_plain_or_of_the_class(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text(
        '{"zone": "a", "fare": 1.5}\r\n   \n{"zone": "ü", "fare": 2, "riders": 3, "more": null}\n'
    )
    assert records(JsonLineSource(path))[0] == {"zone": "a", "fare": 1.5}
    assert records(JsonLineSource(path, type=Trip)) == [Trip("a", 1.5), Trip("ü", 2.0, 3)]
    assert records(JsonLineSource(path, type=Stop)) == [Stop("a", 1.5), Stop("ü", 2.0)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            b"{zone: 1}",
            r"/a, line 3 is no JSON: .*\(try: correct the line, or read the file with lines\(\)\)$",
        ),
        (b'{"zone": "a"', r"/a, line 3 is no JSON: "),
        (b'{"zone": "\xff", "fare": 1}', r"/a, line 3 is no JSON: "),
        (b'{"zone": "b", "fare": 1} {"zone": "b", "fare": 1}', r"/a, line 3 is no JSON: "),
        (b'{"zone": "b", "fare": "much"}', r"/a, line 3 does not fit: .*`\$.*fare`.*\(try: "),
    ],
)
def test_a_line_that_is_no_record_is_named_by_file_and_number(
    tmp_path: Path, line: bytes, message: str
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b'{"zone": "a", "fare": 1}\n\n' + line + b"\n" + b'{"zone": "a", "fare": 1}\n')
    for positions in ({str(path): 0}, {str(path): 25}):
        with pytest.raises(UserError, match=message):
            records(JsonLineSource(path, type=Trip), positions)


def test_csv_rows_are_strings_or_of_the_class(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes('\ufeffzone,fare\r\n"a ""b"",\r\nc",1.5\r\n\r\nü,2\r\n'.encode())
    assert records(CsvSource(path)) == [{"zone": 'a "b",\r\nc', "fare": "1.5"}, {"zone": "ü", "fare": "2"}]
    assert records(CsvSource(path, type=Trip)) == [Trip('a "b",\r\nc', 1.5), Trip("ü", 2.0)]
    assert records(CsvSource(path, type=Stop))[1] == Stop("ü", 2.0)


def test_csv_without_a_header_and_with_semicolons(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes("a;1,5\nö;2\n".encode("latin-1"))
    source = CsvSource(path, columns=["zone", "fare"], delimiter=";", encoding="latin-1")
    assert records(source) == [{"zone": "a", "fare": "1,5"}, {"zone": "ö", "fare": "2"}]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"b", r"/a, line 4 has 1 values and not 2 values, as many as there are columns \(try: correct"),
        (b"b,1,2", r"/a, line 4 has 3 values and not 2"),
        (b'"b"x,1', r"/a, line 4 is no CSV: .*expected after.*\(try: "),
        (b'b,"1', r"/a, line 4 is no CSV: unexpected end of data"),
        (b"\xff,1", r"/a, line 4 is not utf-8: .*\(try: encoding='latin-1'\)"),
        (b"b,much", r"/a, line 4 does not fit: .*float.*`\$.fare`.*\(try: "),
    ],
)
def test_a_row_that_is_bad_is_named_by_file_and_line(tmp_path: Path, row: bytes, message: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(b'zone,fare\n"two\nlines",1\n' + row + b"\n")
    for positions in ({str(path): 0}, {str(path): 24}):
        with pytest.raises(UserError, match=message):
            records(CsvSource(path, type=Trip), positions)


def test_a_header_that_names_a_column_twice_is_refused_at_submit(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("zone,fare,zone\n")
    with pytest.raises(UserError, match=r"/a, line 1 names the column 'zone' twice \(try: columns="):
        CsvSource(tmp_path / "a").check()
    with pytest.raises(DefinitionError, match=r"must be one character .* got '\|\|' \(try: delimiter=';'\)"):
        CsvSource("a", delimiter="||")


def test_parquet_rows_are_dicts_or_of_the_class_and_have_the_columns_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"zone": ["a", "b"], "fare": [1.5, None], "riders": [1, 2]}), path)
    assert records(ParquetSource(path))[1] == {"zone": "b", "fare": None, "riders": 2}
    assert records(ParquetSource(path, columns=["zone"])) == [{"zone": "a"}, {"zone": "b"}]
    with pytest.raises(UserError, match=r"a row of /.*a.parquet does not fit: .*`null`.*fare.*\(try: "):
        records(ParquetSource(path, type=Trip))
    pq.write_table(pa.table({"zone": ["a"], "fare": [1.5]}), path)
    assert records(ParquetSource(path, type=Trip)) == [Trip("a", 1.5)]
    with pytest.raises(UserError, match=r"has no column 'zoen'; did you mean 'zone'\? \(try: columns="):
        ParquetSource(path, columns=["zoen"]).check()


def test_a_file_that_is_not_parquet_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("zone,fare\n")
    with pytest.raises(UserError, match=r"/a cannot be read as Parquet: .*\(try: ") as caught:
        ParquetSource(tmp_path / "a").check()
    assert "\n" not in str(caught.value)


def test_pyarrow_is_imported_by_nobody_who_does_not_need_it(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").touch()
    program = (
        "import sys\n"
        "sys.modules['pyarrow'] = None\n"
        "from heronpy.connectors.files.parquet import ParquetSource\n"
        "try:\n"
        f"    ParquetSource({str(tmp_path)!r}).check()\n"
        "except Exception as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    wanted = "Parquet files need pyarrow, which is not installed (try: pip install 'heron-py[parquet]')\n"
    assert done.stdout == wanted


def test_a_rate_gives_what_is_due_and_begins_anew_after_an_assign() -> None:
    clock = Clock()
    reader = RateReader(RateSource(10, total=25), clock.monotonic)
    reader.assign({"0": None})
    assert reader.poll(100) is None
    clock.advance(1.05)
    chunks = [reader.poll(7), reader.poll(7)]
    assert [chunk and (list(chunk.records), chunk.caught_up) for chunk in chunks] == [
        ([0, 1, 2, 3, 4, 5, 6], False),
        ([7, 8, 9], True),
    ]
    clock.advance(100)
    reader.assign({"0": 10})
    assert reader.poll(100) is None
    clock.advance(2)
    chunk = reader.poll(100)
    assert chunk is not None
    assert (list(chunk.records), chunk.position, chunk.ended) == (list(range(10, 25)), 25, True)
    assert reader.poll(100) is None


def test_a_rate_is_bounded_if_it_has_a_total() -> None:
    assert (RateSource(1).bounded, RateSource(1, total=0).bounded) == (False, True)
    for per_second, total, parts in ((0, None, 1), (1, -1, 1), (1, 1, 0)):
        with pytest.raises(DefinitionError, match=r"gives nothing \(try: rate\(100\)"):
            RateSource(per_second, total=total, parts=parts)
