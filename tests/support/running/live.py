"""A topology that counts words and is changed while it runs; its state, held against what its sources say."""

from __future__ import annotations

import collections
import contextlib
import json
import math
import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from support.running.engine import TOPOLOGIES, Engine, wait_until

from heronpy.instances.saving.state.encoding import decode_group, decode_whole
from heronpy.instances.saving.state.object_format import read_object
from heronpy.kernel.checkpoints.manifest import read_manifest, read_part
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import ObjectMissing
from heronpy.kernel.plugin.opening import open_checkpoint_store, open_state
from heronpy.kernel.tree.paths import Registration, Tree
from heronpy.kernel.tree.registrations import read

TOPOLOGY = "LiveWords"

#: seconds without a new number after which nothing is under way: five reports of every task
QUIET = 1.0
INTERVAL = "200ms"


class Account(NamedTuple):
    """What was counted, against what the positions of the source say."""

    #: keys whose count is not the oracle's
    wrong: int
    words: int
    #: what the last bolt has seen of it
    total: int


class LiveWords:
    """One running topology."""

    def __init__(
        self,
        engine: Engine,
        folder: Path,
        reliability: str,
        *,
        keys: int = 100_000,
        slow: float = 0.0,
        settings: tuple[str, ...] = (),
        more: tuple[str, ...] = (),
    ) -> None:
        self.engine = engine
        self.keys = keys
        self.folder = folder
        # for every verb: an update waits for two of its reports before it tells the rates
        engine.environment["HERONPY_METRICS_INTERVAL"] = INTERVAL
        chosen = [word for each in settings for word in ("--set", each)]
        arguments = (reliability, str(keys), str(slow), str(folder))
        engine.ok("submit", str(TOPOLOGIES / "live_words.py"), *arguments, *chosen, *more, timeout=120)

    def tuples(self) -> int:
        """Executed by the counters so far, as the master has heard."""
        status = self.engine.status(TOPOLOGY)
        return sum(one["executed"] for one in status["instances"] if one["component"] == "count")

    def flow(self, tuples: int = 500, timeout: float = 60.0) -> None:
        """Wait until so many more have been counted."""
        before = self.tuples()
        wait_until(
            lambda: not 0 <= self.tuples() - before < tuples, timeout, "words flow", self.engine.log_tails
        )

    def pids(self) -> dict[str, int]:
        """Label of each instance, and the Stream Manager of each container of the plan, with its process."""
        instances = self.engine.status(TOPOLOGY)["instances"]
        found = {f"{one['component']}[{one['index']}]": one["pid"] for one in instances}
        state, tree = open_state(_config(self.engine)), Tree(TOPOLOGY)
        for container in {one["container"] for one in instances}:
            registered = read(state, tree.stream_manager(container), Registration)
            if registered is not None:
                found[f"stream-manager-{container}"] = registered.pid
        state.close()
        return found

    def update(self, *wanted: str, timeout: float = 90.0) -> dict[str, Any]:
        """Scale it; the closing ledger."""
        said: dict[str, Any] = json.loads(
            self.engine.ok("update", TOPOLOGY, *wanted, "-o", "json", timeout=timeout)
        )
        return said

    def rest(self, timeout: float = 120.0) -> None:
        """Pause the source and wait until nothing moves."""
        self.engine.ok("deactivate", TOPOLOGY)
        self._wait_for_quiet(timeout)

    def finish(self, timeout: float = 240.0) -> None:
        """No new words any more; wait until all are acked, also those that failed and came again."""
        (self.folder / "stop").touch()
        self._wait_for_quiet(timeout, acked=True)

    def _wait_for_quiet(self, timeout: float, acked: bool = False) -> None:
        """Wait until no task has executed anything for a while, and if asked, no word waits for its ack."""
        deadline = time.monotonic() + timeout
        before, since = -1, time.monotonic()
        while time.monotonic() - since < QUIET:
            assert time.monotonic() < deadline, f"words still flow\n{self.engine.log_tails()}"
            instances = self.engine.status(TOPOLOGY)["instances"]
            now = sum(one["executed"] for one in instances)
            if now != before or (acked and any(one["pending"] for one in instances)):
                before, since = now, time.monotonic()
            time.sleep(0.1)

    def account(self) -> Account:
        """Take a checkpoint and hold all of it against the positions of the source."""
        counted, oracle, total = self._saved()
        wrong = sum(counted[key] != oracle[key] for key in counted | oracle)
        return Account(wrong, oracle.total(), total)

    def missing(self) -> int:
        """Words that were emitted and never counted, however often others were."""
        counted, oracle, _ = self._saved()
        return (oracle - counted).total()

    def _saved(self) -> tuple[collections.Counter[int], collections.Counter[int], int]:
        """Take a checkpoint: what is counted, what should be at least, and what the last bolt has seen."""
        self.engine.ok("checkpoints", TOPOLOGY, "--take", timeout=90)
        saved = saved_state(self.engine, TOPOLOGY)
        counted = collections.Counter(saved["count"])
        oracle: collections.Counter[int] = collections.Counter()
        for split, position in saved["words"].items():
            oracle.update(_words(int(split), position, self.keys))
        return counted, oracle, saved.get("total", {}).get("tuples", 0)

    def end(self) -> None:
        """Kill it; nothing may be left."""
        self.engine.ok("kill", TOPOLOGY)
        assert self.engine.leftovers() == []


def _words(split: int, position: int, keys: int) -> dict[int, int]:
    """How often each word is among the first ones of a split, which repeat themselves after all keys."""
    assert math.gcd(7919, keys) == 1
    rounds, rest = divmod(position, keys)
    counts = dict.fromkeys(range(keys), rounds) if rounds else {}
    for place in range(rest):
        word = (place * 7919 + split * 104729) % keys
        counts[word] = counts.get(word, 0) + 1
    return counts


def _config(engine: Engine) -> Config:
    return load_config(flags={"home": str(engine.home)}, environ={})


def saved_state(engine: Engine, topology: str) -> dict[str, dict[Any, Any]]:
    """By component: all of the newest checkpoint, whichever tasks it is of."""
    store = open_checkpoint_store(_config(engine))
    refs = []
    for name in store.names(f"{topology}/"):
        if name.endswith("/ref"):
            with contextlib.suppress(ObjectMissing):  # an old one that was collected since they were listed
                refs.append(msgspec.json.decode(store.read(name), type=CheckpointRef))
    newest = max(refs, key=lambda ref: ref.id)
    found: dict[str, dict[Any, Any]] = {}
    for task in read_manifest(store, newest).tasks:
        state = found.setdefault(task.component, {})
        for part in task.parts:
            sections = read_object(part.object, read_part(store, part))
            for group in part.groups:
                state.update(decode_group(sections.groups[group]))
            if part.whole:
                state.update(decode_whole(sections.extras["state"]) if "state" in sections.extras else {})
                assert not sections.extras.get("rows"), "something had not been sent"
    store.close()
    return found
