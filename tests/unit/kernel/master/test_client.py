"""Questions to the master: a connection that gives no answer is not the last one."""

from __future__ import annotations

import threading
from pathlib import Path

from heronpy.kernel.config import load_config
from heronpy.kernel.master.client import MasterClient
from heronpy.kernel.plugin.opening import open_state
from heronpy.kernel.protocol import StatusReply, wrap
from heronpy.kernel.status import TopologyStatus
from heronpy.kernel.transport import Transport
from heronpy.kernel.tree.paths import Registration, Tree
from heronpy.kernel.tree.registrations import register


def test_a_question_without_an_answer_is_followed_by_one_over_a_new_connection(tmp_path: Path) -> None:
    state = open_state(load_config(flags={"home": str(tmp_path / "home")}, environ={}))
    local, heard, over = str(tmp_path / "status"), list[bytes](), threading.Event()
    listening = threading.Event()

    def deaf_to_the_first() -> None:
        """A master that never answers the connection that it heard first."""
        with Transport() as transport:
            router = transport.router_ipc(local)
            listening.set()
            while not over.wait(0.01):
                while (parts := router.receive()) is not None:
                    heard.append(parts[0])
                    if parts[0] != heard[0]:
                        status = TopologyStatus(name="words", state="RUNNING")
                        router.send(parts[0], wrap(StatusReply(status=status.to_json())))

    master = threading.Thread(target=deaf_to_the_first)
    master.start()
    try:
        assert listening.wait(30)
        register(state, Tree("words").master, Registration("", incarnation=1, local=local))
        with MasterClient(state, "words") as client:
            while not heard:
                assert client.status(timeout=0.2).state == "UNREACHABLE"
            assert client.status(timeout=30).state == "RUNNING"
    finally:
        over.set()
        master.join()
        state.close()
