"""Control messages: one envelope around each, and nothing else is taken for one."""

from __future__ import annotations

import contextlib
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heronpy.kernel.errors import ProtocolError
from heronpy.kernel.formats import PROTOCOL
from heronpy.kernel.protocol import Body, Envelope, InstanceBeat, ProcessBeat, StatusRequest, unwrap, wrap


@pytest.mark.parametrize("kind", get_args(Body), ids=lambda kind: kind.__name__)
def test_every_kind_of_message_comes_out_as_it_went_in(kind: type[Body]) -> None:
    body = unwrap(wrap(kind()))
    assert type(body) is kind
    assert body == kind()


def test_every_message_of_the_envelope_has_a_type() -> None:
    fields = Envelope.DESCRIPTOR.oneofs_by_name["body"].fields
    assert sorted(field.message_type.name for field in fields if field.message_type) == sorted(
        kind.__name__ for kind in get_args(Body)
    )


def test_what_is_in_a_message_stays_in_it() -> None:
    failed = InstanceBeat(task=7, state="failed", error="ValueError: grüße")
    beat = ProcessBeat(slot=7, incarnation=2**63, pid=9, instances=[failed, InstanceBeat(task=8)])
    assert unwrap(wrap(beat)) == beat


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xff\xff", r"not a control message \(3 bytes\)"),
        (b"", "control protocol version 0, this side speaks 2"),
        (
            Envelope(version=9, status_request=StatusRequest()).SerializeToString(),
            "control protocol version 9",
        ),
        (Envelope(version=PROTOCOL).SerializeToString(), "control message of an unknown kind"),
    ],
)
def test_anything_else_is_a_protocol_error(data: bytes, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        unwrap(data)


@given(st.binary(max_size=200))
def test_noise_never_raises_anything_else(data: bytes) -> None:
    with contextlib.suppress(ProtocolError):
        unwrap(data)
