"""Every decoder against bytes that somebody made up: one error, and no size in them is believed."""

from __future__ import annotations

import contextlib
import logging
import struct
from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.faults.hostile_bytes import judge, may_hold_a_pickle, mutations
from support.tasks.plans import SINK, SOURCE, edge, plan_of

from heronpy import Bolt, Schema
from heronpy.instances.acking.ack_codec import (
    Acks,
    decode_anchored,
    decode_joined,
    decode_leaves,
    encode_anchored,
)
from heronpy.instances.acking.anchored import shared
from heronpy.instances.flow_settings import FlowSettings
from heronpy.instances.output.codec import PlainCodec, SerializerCodec
from heronpy.instances.output.columns.column_codec import encode_columns
from heronpy.instances.task.build import Task, build_task
from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.flow.column_split import rows_of
from heronpy.kernel.flow.credit import Grant
from heronpy.kernel.flow.frame import (
    ACK,
    ANCHORED,
    CREDIT,
    DATA,
    KINDS,
    PREFIX_BYTES,
    Prefix,
    route,
    seal,
    unseal,
)
from heronpy.kernel.flow.peer_link import RECEIVED, LinkSender, decode_head
from heronpy.kernel.machine.addresses import incarnation_of
from heronpy.kernel.protocol import InstanceBeat, PlanNotice, ProcessBeat, unwrap, wrap

MINE, THEIRS = 3, 8
LYING_COUNTS = st.sampled_from([0, 1, 2, 1000, 2**31, 2**32 - 1])


class NoSerializer:
    """Never asked: what it would be given is none."""

    def serialize(self, obj: object) -> bytes:
        raise AssertionError(obj)

    def deserialize(self, input_str: bytes) -> object:
        return input_str


WORDS = Schema(word=pa.string(), n=pa.int64())
BATCH = PlainCodec().encode([("a", 1), ("b", 2), ("c", None)])
FRAME = seal(Prefix(DATA, 2, 1, 0, 3, 1, 1, 0, 0), BATCH)
ANCHORED_BATCHES = [
    encode_anchored([1, 2, 3], BATCH),
    encode_anchored([1, 2, 4], BATCH),
    encode_anchored([(1, 2), None, (3, 4)], BATCH),
    encode_anchored([{1: 2, 3: 4}, None, (5, 6)], BATCH),
    encode_anchored(shared((1, 2), 3), BATCH),
    encode_anchored([*shared({1: 2, 3: 4}, 2), 5], BATCH),
]
GOOD: dict[str, tuple[Callable[[bytes], object], list[bytes]]] = {
    "frame": (lambda data: unseal(data[:PREFIX_BYTES], data[PREFIX_BYTES:]), [b"".join(FRAME)]),
    "route": (route, [FRAME[0]]),
    "link head": (decode_head, [LinkSender().sync()]),
    "link reply": (lambda data: LinkSender().on_reply(data), [bytes([RECEIVED]) + bytes(8)]),
    "grant": (Grant.decode, [Grant(1, 2, 3).encode()]),
    "acks": (
        Acks.decode,
        [
            Acks([6, 9], [1, 2], [3, 4], [5]).encode(),
            Acks([6, 7], [1], [2], [3]).encode(),
            Acks([], [], [], []).encode(),
        ],
    ),
    "anchored": (lambda data: decode_anchored(data, 3), ANCHORED_BATCHES),
    "leaves": (lambda data: decode_leaves(data, 3), ANCHORED_BATCHES),
    "batch": (PlainCodec().decode, [BATCH]),
    "serialized batch": (SerializerCodec(NoSerializer()).decode, [msgspec.msgpack.encode([[b"a"], [b"b"]])]),
    "control": (
        unwrap,
        [
            wrap(ProcessBeat(instances=[InstanceBeat(task=1, state="running")])),
            wrap(PlanNotice(epoch=1, plan=b"{}")),
        ],
    ),
}


@pytest.mark.parametrize("kind", GOOD)
@given(data=st.data())
def test_noise_and_mutations_are_refused_with_one_error(kind: str, data: st.DataObject) -> None:
    decode, originals = GOOD[kind]
    noise = data.draw(st.binary(max_size=300) | mutations(originals))
    assume(not may_hold_a_pickle(noise))
    judge(decode, noise)


@pytest.mark.parametrize("kind", GOOD)
def test_every_truncation_is_refused(kind: str) -> None:
    decode, originals = GOOD[kind]
    for original in originals:
        decode(original)
        for length in range(len(original)):
            judge(decode, original[:length])


@given(st.binary(max_size=40))
def test_an_identity_is_one_of_ours_or_a_value_error(identity: bytes) -> None:
    with contextlib.suppress(ValueError):
        incarnation_of(identity)


@given(st.integers(0, 3), LYING_COUNTS, LYING_COUNTS, LYING_COUNTS, st.binary(max_size=64))
def test_acks_that_lie_about_how_many_they_are(
    form: int, whole: int, acked: int, failed: int, rest: bytes
) -> None:
    judge(Acks.decode, struct.pack("<BIII", form, whole, acked, failed) + rest)


@given(
    st.sampled_from([0, 1, 2**63, 2**64 - 2**14, 2**64 - 1]) | st.integers(0, 2**64 - 1),
    LYING_COUNTS | st.sampled_from([2**14, 2**14 + 1]),
)
def test_a_range_of_roots_is_short_and_ends_within_64_bits(first: int, count: int) -> None:
    """Else a few bytes would become four billion roots, or some that no array takes."""
    acks = struct.pack("<BIIIQ", 2, count, 0, 0, first)
    anchored = struct.pack("<BIQ", 4, 8, first) + BATCH
    decoders: list[tuple[Callable[[bytes], object], bytes]] = [
        (Acks.decode, acks),
        (lambda data: decode_anchored(data, count), anchored),
        (lambda data: decode_leaves(data, count), anchored),
        (lambda data: decode_joined(data, count), anchored),
    ]
    for decode, data in decoders:
        if count <= 2**14 and first + count <= 2**64:
            decode(data)
        else:
            with pytest.raises(ProtocolError, match=f"a range of {count} roots from {first:x} on"):
                decode(data)
            judge(decode, data)


@given(st.integers(0, 6), LYING_COUNTS, LYING_COUNTS, st.binary(max_size=64))
def test_anchors_that_lie_about_how_many_they_are(form: int, size: int, tuples: int, rest: bytes) -> None:
    judge(lambda data: decode_anchored(data, tuples), struct.pack("<BI", form, size) + rest)
    judge(lambda data: decode_leaves(data, tuples), struct.pack("<BI", form, size) + rest)
    judge(lambda data: decode_joined(data, tuples), struct.pack("<BI", form, size) + rest)


@given(LYING_COUNTS, st.lists(LYING_COUNTS, max_size=6), st.binary(max_size=64))
def test_shared_anchors_that_lie_about_how_many_tuples_share_them(
    parts: int, counts: list[int], rest: bytes
) -> None:
    anchors = struct.pack(f"<I{len(counts)}I", parts, *counts) + rest
    tuples = sum(counts[:parts]) if parts <= len(counts) else 3
    judge(lambda data: decode_anchored(data, tuples), struct.pack("<BI", 5, len(anchors)) + anchors)
    judge(lambda data: decode_joined(data, tuples), struct.pack("<BI", 5, len(anchors)) + anchors)


def test_a_few_bytes_of_shared_anchors_do_not_become_millions_of_edges() -> None:
    rows, roots = 300, 300
    numbers = struct.pack(f"<{2 * roots}Q", *range(2 * roots))
    anchors = struct.pack("<III", 1, rows, roots) + numbers
    payload = struct.pack("<BI", 5, len(anchors)) + anchors
    for decode in (decode_anchored, decode_joined):
        with pytest.raises(ProtocolError, match="bytes of anchors for 300 of 300 tuples, in 1 parts"):
            decode(payload, rows)


@pytest.mark.parametrize(
    "payload",
    [
        b"\xdd\xff\xff\xff\xff",
        b"\x91\xdd\xff\xff\xff\xff",
        b"\x91\x91\xdf\xff\xff\xff\xff",
        b"\x91\x91\xc6\xff\xff\xff\xff",
        b"\x91\x91\xdb\xff\xff\xff\xff",
        b"\x91\x91\xc9\xff\xff\xff\xff\x01",
        b"\x91" * 100_000,
    ],
    ids=["rows", "values", "a dict", "bytes", "text", "an extension", "a nest"],
)
def test_a_batch_that_claims_four_billion_of_something(payload: bytes) -> None:
    with pytest.raises(ProtocolError, match=f"{len(payload)} bytes that are no batch"):
        PlainCodec().decode(payload)
    judge(PlainCodec().decode, payload)


class Deaf:
    """A link on which nothing comes in; keeps the grants that go out."""

    stopping = False

    def __init__(self) -> None:
        self.grants: list[Grant] = []

    def send(self, prefix: bytes, payload: bytes) -> None:
        if unseal(prefix, payload).kind == CREDIT:
            self.grants.append(Grant.decode(payload))

    def pump(self, timeout: float) -> None:
        pass


class Keeps(Bolt):
    """Keeps what it is given."""

    def initialize(self, config: Any, context: Any) -> None:
        del config, context
        self.kept: list[Any] = []

    def process(self, tup: Any) -> None:
        self.kept.append(list(tup.values))


class KeepsTogether(Keeps):
    """The same, all rows of a frame at once."""

    def process_rows(self, rows: Any) -> None:
        self.kept += rows


class KeepsColumns(Keeps):
    """The same in columns."""

    def process_columns(self, batch: Any) -> None:
        self.kept += rows_of(batch)


class Bench:
    """One bolt task whose frames are made by hand."""

    def __init__(self, bolt: type[Keeps] = Keeps, schema: Schema | None = None) -> None:
        self.link = Deaf()
        plan = plan_of(edge("shuffle"), schema=schema)
        self.task: Task = build_task(plan, SINK, MINE, self.link, FlowSettings(), lambda _: bolt)
        self.task.initialize()
        self.link.grants.clear()

    def get(
        self, payload: bytes, tuples: int, position: int = 0, *, kind: int = DATA, stream: int = 0
    ) -> None:
        prefix = Prefix(kind, SINK, SOURCE, stream, tuples, 1, THEIRS, 0, position)
        self.task.on_frame(*seal(prefix, payload))
        for _ in range(3):
            self.task.loop.turn()


@pytest.mark.parametrize(
    ("payload", "tuples", "kind", "stream", "reason"),
    [
        (BATCH[:-1], 3, DATA, 0, f"{len(BATCH) - 1} bytes that are no batch: Input data was truncated"),
        (BATCH, 2, DATA, 0, "3 tuples instead of 2"),
        (BATCH, 4, DATA, 0, "3 tuples instead of 4"),
        (BATCH, 3, DATA, 77, "no stream 77 in the plan"),
        (b"", 3, ANCHORED, 0, "anchored batch of 0 bytes"),
        (BATCH, 3, ANCHORED, 0, "anchors of form 147"),
        (
            msgspec.msgpack.encode([[msgspec.msgpack.Ext(1, b"\x80\x05junk"), 1]]),
            1,
            DATA,
            0,
            "that is no pickle",
        ),
    ],
)
def test_a_frame_that_is_not_what_it_says_is_dropped_and_holds_no_credit(
    payload: bytes, tuples: int, kind: int, stream: int, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench()
    with caplog.at_level(logging.WARNING):
        bench.get(payload, tuples, kind=kind, stream=stream)
    assert bench.task.parts.counters.rejected == 1
    assert bench.task.parts.counters.queued == 0
    assert bench.link.grants[-1].consumed == tuples
    assert f"dropped {tuples} tuples from task {SOURCE} (incarnation {THEIRS}): " in caplog.text
    assert reason in caplog.text
    bench.get(BATCH, 3, position=tuples)
    assert bench.task.component.kept == [["a", 1], ["b", 2], ["c", None]]  # type: ignore[union-attr]
    counters = bench.task.parts.counters
    assert (counters.missing, counters.maybe_lost) == (0, tuples)


def test_rows_that_do_not_fit_the_schema_of_their_stream_end_no_reader_of_columns(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """No emitter of ours sends them."""
    bench = Bench(KeepsColumns, WORDS)
    with caplog.at_level(logging.WARNING):
        for place, row in enumerate([("a", "seven"), ("a",), (7, 7)]):
            bench.get(PlainCodec().encode([row]), 1, place)
    assert bench.task.parts.counters.rejected == 3
    assert "rows of stream 'default' of 'words' that do not fit its Schema" in caplog.text
    bench.get(BATCH, 3, 3)
    assert bench.task.component.kept == [["a", 1], ["b", 2], ["c", None]]  # type: ignore[union-attr]


NO_ROWS = PlainCodec().encode([])
NO_COLUMNS = encode_columns(pa.record_batch([[], []], schema=WORDS.arrow), None)


@pytest.mark.parametrize("bolt", [Keeps, KeepsTogether, KeepsColumns])
@pytest.mark.parametrize(
    ("kind", "payload"),
    [(DATA, NO_ROWS), (DATA, NO_COLUMNS), (ANCHORED, encode_anchored([(1, 2)], NO_ROWS)), (DATA, b"")],
    ids=["rows", "columns", "anchored rows", "nothing"],
)
def test_a_data_frame_of_0_tuples_is_refused_and_the_task_goes_on(
    kind: int, payload: bytes, bolt: type[Keeps], caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(bolt, WORDS)
    with caplog.at_level(logging.WARNING):
        bench.get(payload, 0, kind=kind)
    assert bench.task.parts.counters.rejected == 1
    assert "a data frame of 0 tuples" in caplog.text
    bench.get(BATCH, 3)
    assert bench.task.component.kept == [["a", 1], ["b", 2], ["c", None]]  # type: ignore[union-attr]


@given(st.sampled_from(sorted(KINDS)), st.binary(max_size=60), st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_no_sealed_frame_ends_a_task(kind: int, payload: bytes, tuples: int, source: int) -> None:
    assume(not may_hold_a_pickle(payload))
    bench = Bench()
    prefix = Prefix(kind, SINK, source, 0, tuples, 1, THEIRS, 0, 0)
    bench.task.on_frame(*seal(prefix, payload))
    for _ in range(3):
        bench.task.loop.turn()


def test_a_replayed_frame_and_one_of_a_predecessor_are_counted_with_their_sender(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench()
    bench.get(BATCH, 3)
    with caplog.at_level(logging.WARNING):
        bench.get(BATCH, 3)
    assert f"dropped a frame from task {SOURCE} (incarnation {THEIRS}): it begins at 0" in caplog.text
    bench.task.on_frame(*seal(Prefix(DATA, SINK, SOURCE, 0, 3, 1, THEIRS - 1, 0, 3), BATCH))
    bench.task.on_frame(*seal(Prefix(ACK, SINK, SOURCE, 0, 0, 1, THEIRS, 0, 0), b""))
    assert bench.task.parts.counters.rejected == 3
    assert len(bench.task.component.kept) == 3  # type: ignore[union-attr]
