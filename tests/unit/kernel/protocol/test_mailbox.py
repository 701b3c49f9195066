"""A mailbox: messages with their sender, and a count of what was none."""

from __future__ import annotations

import logging
import pickle
import time
from pathlib import Path

import pytest

from heronpy.kernel.machine.addresses import container_identity
from heronpy.kernel.protocol import InstanceBeat, ProcessBeat, wrap
from heronpy.kernel.protocol.mailbox import Mailbox
from heronpy.kernel.transport import Transport


class Bomb:
    """Whoever unpickles it makes a file."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.target,)


BEAT = ProcessBeat(slot=1, instances=[InstanceBeat(task=1, state="running")])


@pytest.mark.parametrize(
    "bad",
    [[b"noise"], [b""], [wrap(BEAT), b"more"], [b"more", wrap(BEAT)], [wrap(BEAT)[:-1]]],
    ids=["noise", "nothing", "a part behind", "a part in front", "truncated"],
)
def test_what_is_no_message_is_counted_and_its_sender_named(
    bad: list[bytes], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Transport() as transport:
        mailbox = Mailbox(transport.router_ipc(str(tmp_path / "m")), logging.getLogger("mailbox"))
        sender = transport.dealer_ipc(str(tmp_path / "m"), container_identity(2, 1))
        for message in (bad, bad, [wrap(BEAT)]):
            sender.send(message)
        received: list[object] = []
        deadline = time.monotonic() + 5
        while not received and time.monotonic() < deadline:
            received += mailbox.messages()
            time.sleep(0.002)
    assert received == [(container_identity(2, 1), BEAT)]
    assert mailbox.rejected == 2
    assert "dropped a control message from container 2 (incarnation 1): " in caplog.text


def test_a_pickle_in_the_mail_is_not_opened(tmp_path: Path) -> None:
    bomb = pickle.dumps(Bomb(tmp_path / "went-off"))
    with Transport() as transport:
        mailbox = Mailbox(transport.router_ipc(str(tmp_path / "m")), logging.getLogger("mailbox"))
        transport.dealer_ipc(str(tmp_path / "m"), b"stranger").send([bomb])
        deadline = time.monotonic() + 5
        while not mailbox.rejected and time.monotonic() < deadline:
            assert list(mailbox.messages()) == []
            time.sleep(0.002)
    assert mailbox.rejected == 1
    assert not (tmp_path / "went-off").exists()
    pickle.loads(bomb)
    assert (tmp_path / "went-off").exists()
