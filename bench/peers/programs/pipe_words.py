"""The limit of rows in Python: the classes of the word count, two processes and a pipe, and no engine."""

from __future__ import annotations

import fcntl
import gc
import os
import struct

import msgspec
from measuring import Clock, block, report

#: rows of one message, and words of one call, as in heronpy's own word count
BATCH, BURST = 1000, 100
F_SETPIPE_SZ = 1031


class Words:
    def __init__(self, emit) -> None:
        self.emit, self.words, self.position = emit, block(), 0

    def next_tuple(self) -> None:
        begin = self.position
        for word in self.words[begin : begin + BURST]:
            self.emit([word])
        self.position = (begin + BURST) % len(self.words)


class Row:
    __slots__ = ("values",)

    def __init__(self, values) -> None:
        self.values = values


class Count:
    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.seen = 0

    def process(self, row: Row) -> None:
        word = row.values[0]
        self.counts[word] = self.counts.get(word, 0) + 1
        self.seen += 1


def settle() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def send(pipe: int, total: int) -> None:
    rows: list[list[str]] = []
    spout, encode = Words(rows.append), msgspec.msgpack.Encoder().encode
    settle()
    for _ in range(0, total, BATCH):
        while len(rows) < BATCH:
            spout.next_tuple()
        payload = encode(rows)
        rows.clear()
        view = memoryview(struct.pack("<I", len(payload)) + payload)
        while view:
            view = view[os.write(pipe, view) :]


def main() -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(writing, F_SETPIPE_SZ, 1 << 20)
    clock = Clock()
    if not (child := os.fork()):
        os.close(reading)
        send(writing, clock.last)
        os.close(writing)
        os.read(0, 1)  # its CPU time is read until the end
        os._exit(0)
    os.close(writing)
    bolt, decode = Count(), msgspec.msgpack.Decoder(list[list[str]]).decode
    settle()
    with os.fdopen(reading, "rb", buffering=1 << 20) as pipe:
        while head := pipe.read(4):
            for values in decode(pipe.read(struct.unpack("<I", head)[0])):
                bolt.process(Row(values))
            if bolt.seen in (clock.first, clock.last):
                clock.mark()
    os.waitpid(child, 0)
    report(clock, bolt.counts.items(), msgspec=msgspec.__version__)


if __name__ == "__main__":
    main()
