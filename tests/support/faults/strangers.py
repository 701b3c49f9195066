"""People who should not be here: garbage on TCP ports, clients without a right, forged frames."""

from __future__ import annotations

import contextlib
import random
import resource
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import zmq

from heronpy.instances.output.codec import PlainCodec
from heronpy.kernel.flow.frame import DATA, PREFIX_BYTES, Prefix, seal
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.transport import Transport
from heronpy.kernel.transport.sockets import Local

Frame = tuple[bytes, ...]

#: how a ZMTP 3 peer begins
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00"
#: connections that one attacker holds open at a time
HELD = 200


def garbage_connections(endpoint: str, count: int, rng: random.Random) -> None:
    """Random bytes, a promising beginning, silence for a while, or gone at once."""
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    held: list[socket.socket] = []
    for _ in range(count):
        stranger = socket.create_connection((host, int(port)), timeout=30)
        said = rng.choice([b"", rng.randbytes(300), GREETING + rng.randbytes(300), GREETING, None])
        with contextlib.suppress(OSError):  # closed on us already
            stranger.sendall(said or b"")
        if said is not None:
            stranger.close()
            continue
        held.append(stranger)
        if len(held) > HELD:
            held.pop(0).close()
    for stranger in held:
        stranger.close()


def silent_connections(
    endpoints: Sequence[str], rate: int, seconds: float, meanwhile: Callable[[], None]
) -> int:
    """So many connections a second to each door, which say nothing and stay; how many there were in all."""
    places = [endpoint.removeprefix("tcp://").rpartition(":") for endpoint in endpoints]
    doors = [(host, int(port)) for host, _, port in places]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held: deque[socket.socket] = deque(maxlen=min(hard // 2, 8000))
    begin, made = time.monotonic(), 0
    try:
        while (now := time.monotonic() - begin) < seconds:
            for _ in range(int(now * rate) - made):
                made += 1
                for door in doors:
                    stranger = socket.socket()
                    stranger.setblocking(False)
                    stranger.connect_ex(door)
                    if len(held) == held.maxlen:
                        held.popleft().close()
                    held.append(stranger)
            meanwhile()
            time.sleep(0.01)  # the pace of the flood
        return made
    finally:
        for stranger in held:
            stranger.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Client(NamedTuple):
    """What a client shows at the door: its own key pair and its server's key, or nothing."""

    public: bytes = b""
    secret: bytes = b""

    @classmethod
    def make(cls) -> Client:
        return cls(*zmq.curve_keypair())


def knock(endpoint: str, server_key: str, client: Client, message: Sequence[bytes], seconds: float) -> bool:
    """Send a message for some seconds; whether anything at all came back."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.setsockopt(zmq.LINGER, 0)
        if client.public:
            dealer.setsockopt(zmq.CURVE_SERVERKEY, server_key.encode())
            dealer.setsockopt(zmq.CURVE_PUBLICKEY, client.public)
            dealer.setsockopt(zmq.CURVE_SECRETKEY, client.secret)
        dealer.connect(endpoint)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(zmq.Again):
                dealer.send_multipart(message, zmq.NOBLOCK)
            if dealer.poll(100):
                return True
    return False


def replays(plan: PhysicalPlan, incarnations: dict[int, int]) -> list[Frame]:
    """The first frame of every channel, as its emitter has sent it long ago."""
    frames: list[Frame] = []
    for task in plan.tasks:
        for source in plan.upstream_of(task.component):
            stream = plan.streams.index((source.component, "default"))
            width = len(plan.logical.component(source.component).outputs[0].fields)
            payload = PlainCodec().encode([(source.id, 0, task.id)[:width]])
            frames.append(
                seal(
                    Prefix(DATA, task.id, source.id, stream, 1, plan.epoch, incarnations[source.id], 0, 0),
                    payload,
                )
            )
    return frames


def mutations(real: Sequence[Frame], rng: random.Random, count: int) -> list[Frame]:
    """Real frames again, and real frames that something has been done to."""
    made = [_mutated(rng.choice(real), rng) for _ in range(count - len(real))]
    made += real
    rng.shuffle(made)
    return made


def _mutated(frame: Frame, rng: random.Random) -> Frame:
    prefix, payload = bytearray(frame[0]), bytearray(frame[1])
    match rng.randrange(9):
        case 0:
            prefix[rng.randrange(PREFIX_BYTES)] ^= 1 << rng.randrange(8)
        case 1:
            payload[rng.randrange(len(payload))] ^= 1 << rng.randrange(8)
        case 2:
            del prefix[rng.randrange(PREFIX_BYTES) :]
        case 3:
            del payload[rng.randrange(len(payload)) :]
        case 4:
            prefix[2] = rng.choice([0, 2, 255])  # the version
        case 5:
            prefix[3] = rng.choice([0, 6, 77, 255])  # the kind
        case 6:
            prefix[4:8] = rng.randbytes(4)  # the destination
        case 7:
            return (*frame[: rng.randrange(2)], rng.randbytes(rng.randrange(100)))
        case _:
            return (*frame, rng.randbytes(rng.randrange(100)))
    return bytes(prefix), bytes(payload)


def flood(path: str, identity: bytes, frames: Iterator[Frame], local: Local) -> None:
    """Send all of them to a Stream Manager's data socket, as fast as it takes them."""
    with Transport(local=local) as transport:
        dealer = transport.dealer_local(path, identity)
        for frame in frames:
            while not dealer.send(frame):
                time.sleep(0.0005)  # the pace of the Stream Manager
                dealer.receive()
        dealer.close(linger=60)
