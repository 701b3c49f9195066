"""Key groups per second: of Python values row by row, and of Arrow columns, hashed in Python and in C.

python -m bench.column_keys [--rounds 7]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from bench.arithmetic import machine, spread
from heronpy.kernel.flow import compiled
from heronpy.kernel.flow.column_keys import key_groups
from heronpy.kernel.flow.column_split import split
from heronpy.kernel.flow.keys import key_group

ROWS = 65_536
GROUPS = 256
TASKS = 4


def columns() -> dict[str, list[Any]]:
    """What a key may be made of; nearly all keys of a batch are different unless it says otherwise."""
    draw = np.random.default_rng(1)
    whole = pa.array(draw.integers(0, 2**40, ROWS))
    words = pa.array([f"word{number}" for number in draw.integers(0, 450_000, ROWS)])
    few = pa.array([f"word{number}" for number in draw.integers(0, 1_000, ROWS)])
    cents = [Decimal(int(number)).scaleb(-2) for number in draw.integers(0, 10**9, ROWS)]
    moments = pa.array(draw.integers(0, 2**50, ROWS), pa.timestamp("us", "UTC"))
    days = pa.array(draw.integers(0, 1_000, ROWS).astype(np.int32)).view(pa.date32())
    return {
        "int64": [whole],
        "double": [pa.array(draw.random(ROWS))],
        "string": [words],
        "string, 1,000 words": [few],
        "the same as a dictionary": [few.dictionary_encode()],
        "timestamp[us, UTC]": [moments],
        "date32, 1,000 days": [days],
        "decimal128(11, 2)": [pa.array(cents, pa.decimal128(11, 2))],
        "string and int64": [words, whole],
    }


def in_rows(keys: list[Any]) -> None:
    for key in keys:
        key_group(key, GROUPS)


def rate(work: Callable[[], object]) -> float:
    """Rows per CPU-second, in millions."""
    begun = time.process_time()
    work()
    return ROWS / (time.process_time() - begun) / 1e6


def in_python(work: Callable[[], object]) -> float:
    module, compiled.columns = compiled.columns, None
    try:
        return rate(work)
    finally:
        compiled.columns = module


def compare(name: str, rounds: int, **sides: Callable[[], float]) -> None:
    """Every side in every round, so that all of them see the same machine."""
    found = [{side: measure() for side, measure in sides.items()} for _ in range(rounds)]
    for side in sides:
        print(f"{name}, {side}: {spread([each[side] for each in found])} million a CPU-second")


def hash_columns(name: str, made: list[Any], rounds: int) -> None:
    values = [column.to_pylist() for column in made]
    keys = values[0] if len(values) == 1 else list(zip(*values, strict=True))
    compare(
        name,
        rounds,
        rows=lambda: rate(lambda: in_rows(keys)),
        python=lambda: in_python(lambda: key_groups(made, GROUPS)),
        c=lambda: rate(lambda: key_groups(made, GROUPS)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print(machine())
    print(f"batches of {ROWS:,} rows; compiled module: {'yes' if compiled.columns else 'no'}")
    for name, made in columns().items():
        hash_columns(name, made, options.rounds)
    words, whole = columns()["string and int64"]
    batch = pa.record_batch({"word": words, "number": whole})
    owners = (np.arange(GROUPS) * TASKS // GROUPS).astype(np.uint16)[key_groups([words], GROUPS)]
    compare(
        f"split among {TASKS} tasks",
        options.rounds,
        python=lambda: in_python(lambda: split(batch, owners)),
        c=lambda: rate(lambda: split(batch, owners)),
    )


if __name__ == "__main__":
    main()
