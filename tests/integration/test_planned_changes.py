"""What somebody asks of a running topology: each word is counted once, and who is not concerned goes on."""

from __future__ import annotations

import signal
from pathlib import Path

import psutil
import pytest
from support.running.engine import Engine, wait_until
from support.running.live import TOPOLOGY, LiveWords

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

AGAIN = "EFFECTIVELY_ONCE"


def words_flow(engine: Engine, folder: Path, reliability: str, fuse: str = "none") -> LiveWords:
    (folder / "brake").write_text("0.1")  # a busy machine proves nothing more
    # a handshake that runs out of time on a busy machine is begun again, and counted
    settings = ("checkpoint.interval=1s", "transport.handshake=30s", f"topology.fuse={fuse}")
    words = LiveWords(engine, folder, reliability, keys=1000, settings=settings)
    words.flow()
    return words


def pids(engine: Engine, container: int) -> set[int]:
    return {one["pid"] for one in engine.status(TOPOLOGY)["instances"] if one["container"] == container}


def all_counted(engine: Engine, words: LiveWords) -> None:
    """Each word once, and nobody has a doubt."""
    words.rest()
    status, account = engine.status(TOPOLOGY), words.account()
    print(account)
    assert account == (0, account.words, account.words)
    assert (status["lost_min"], status["lost_max"]) == (0, 0)
    refused = sum(one["dropped"] + one["rejected"] for one in status["containers"])
    assert refused == 0, f"{status['containers']}\n{engine.log_tails()}"
    assert sum(one["rejected"] for one in status["instances"]) == 0
    words.end()


@pytest.mark.parametrize(
    ("reliability", "fuse"),
    [
        ("ATMOST_ONCE", "none"),
        ("ATLEAST_ONCE", "none"),
        (AGAIN, "none"),
        ("ATLEAST_ONCE", "container"),
        (AGAIN, "container"),
    ],
)
def test_containers_are_restarted_and_the_source_is_paused(
    engine: Engine, tmp_path: Path, reliability: str, fuse: str
) -> None:
    words = words_flow(engine, tmp_path, reliability, fuse)
    one, other = pids(engine, 1), pids(engine, 2)
    print(engine.ok("restart", TOPOLOGY, "1"))
    wait_until(lambda: not pids(engine, 1) & {0, *one}, 60, "the successors", engine.log_tails)
    assert pids(engine, 2) == other
    words.flow()
    engine.ok("deactivate", TOPOLOGY)
    engine.ok("activate", TOPOLOGY)
    words.flow()
    everybody = words.pids()
    engine.ok("restart", TOPOLOGY, "0")
    words.flow()
    assert words.pids() == everybody
    all_counted(engine, words)


@pytest.mark.parametrize("reliability", ["ATMOST_ONCE", "ATLEAST_ONCE"])
def test_spouts_and_bolts_are_scaled_together(engine: Engine, tmp_path: Path, reliability: str) -> None:
    words = words_flow(engine, tmp_path, reliability)
    for wanted in (("words=4", "relay=1", "count=3"), ("words=1", "relay=3", "count=2")):
        ledger = words.update(*wanted)
        print(ledger)
        assert ledger["ledger"]["lost"] == 0
        words.flow()
    # right behind a restart of the master it is as welcome as at any time
    engine.ok("restart", TOPOLOGY, "0")
    assert words.update("words=2")["ledger"]["lost"] == 0
    words.flow()
    all_counted(engine, words)


def test_what_cannot_be_is_refused_and_the_topology_never_notices(engine: Engine, tmp_path: Path) -> None:
    words = words_flow(engine, tmp_path, "ATMOST_ONCE")
    before, epoch = words.pids(), engine.status(TOPOLOGY)["epoch"]
    for wanted, code, reason in (
        ("cuont=3", 1, "no component 'cuont' in LiveWords"),
        ("count=0", 2, "a component keeps at least one instance"),
        ("count=300", 1, "there are only 256 key groups"),
        ("words=9", 1, "there are only 8 splits"),
        ("count=40", 1, "more than 4 times the 2 there are"),
    ):
        said = engine.fails("update", TOPOLOGY, wanted, code=code)
        assert reason in said
        assert len(said.strip().splitlines()) == 1, said

    master = next(each for each in engine.processes() if each.name() == "topology-master")
    master.send_signal(signal.SIGSTOP)
    try:
        engine.ok("update", TOPOLOGY, "count=3", "--no-wait")
        said = engine.fails("update", TOPOLOGY, "count=4")
    finally:
        master.send_signal(signal.SIGCONT)
    assert "an update to count=3 by" in said
    assert "has been running in LiveWords for" in said
    wait_until(
        lambda: engine.status(TOPOLOGY)["epoch"] == epoch + 1 and not engine.status(TOPOLOGY)["update"],
        60,
        "the end of the first update",
        engine.log_tails,
    )
    words.flow()
    after = words.pids()
    assert {name: after[name] for name in before} == before
    assert {name for name in after if name.startswith("count")} == {"count[0]", "count[1]", "count[2]"}
    all_counted(engine, words)


def test_config_reaches_a_component_that_runs(engine: Engine, tmp_path: Path) -> None:
    words = words_flow(engine, tmp_path, "ATMOST_ONCE")
    before = words.pids()
    engine.ok("update", TOPOLOGY, "--runtime-config", "count:live.words.greeting=hello")
    seen = tmp_path / "greetings"
    wait_until(
        lambda: seen.exists() and seen.read_text() == "hello\nhello\n", 30, "the config", engine.log_tails
    )
    assert words.pids() == before
    all_counted(engine, words)


def test_a_topology_obeys_in_the_middle_of_an_update(engine: Engine, tmp_path: Path) -> None:
    """The update waits for a task that is stopped; nothing else does."""
    words = words_flow(engine, tmp_path, "ATMOST_ONCE")
    stopped = psutil.Process(words.pids()["relay[1]"])
    stopped.suspend()
    try:
        engine.ok("update", TOPOLOGY, "count=3", "--no-wait", "--timeout", "60s")
        wait_until(
            lambda: (engine.status(TOPOLOGY)["update"] or {}).get("phase") == "prepare", 30, "the update"
        )
        assert "relay[1]" in " ".join(engine.status(TOPOLOGY)["update"]["waits_for"])
        assert "update count=3  prepare" in engine.ok("status", TOPOLOGY)
        engine.ok("deactivate", TOPOLOGY)
        engine.ok("activate", TOPOLOGY)
        engine.ok("restart", TOPOLOGY, "--now", "2")
    finally:
        if stopped.is_running():
            stopped.resume()
    wait_until(lambda: not engine.status(TOPOLOGY)["update"], 60, "the end of the update", engine.log_tails)
    words.flow()
    engine.ok("update", TOPOLOGY, "count=3", "--no-wait")
    words.end()
