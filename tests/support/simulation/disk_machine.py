"""One machine: the engine's own master, state tree, checkpoint store and sinks, on a disk that fails."""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
from support.faults.power.synced_disk import SyncedDisk
from support.simulation.disk_calls import DiskCalls
from support.tasks.puppets import EXECUTION, TREE, Inline, submitted
from support.tasks.sinking import Kind, Life, files, rows

from heronpy.container.folders import create_launch, launch_file
from heronpy.instances.saving.sink_transactions import TRANSACTIONS
from heronpy.instances.saving.state.object_format import Sections, read_object, write_object
from heronpy.kernel.checkpoints.manifest import read_manifest, read_part
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.object_names import checkpoint_prefix, own_prefix
from heronpy.kernel.config import load_config
from heronpy.kernel.errors import StoreError
from heronpy.kernel.launch import TopologyLaunch
from heronpy.kernel.machine import durable
from heronpy.kernel.master.coordinator import Coordinator
from heronpy.kernel.master.master_state import MasterState
from heronpy.kernel.plugin.opening import open_checkpoint_store, open_state
from heronpy.kernel.protocol import ContainerBeat, InstanceBeat, Part, ProcessBeat, Stored

#: tasks of support.tasks.puppets: a spout, and two bolts that are a sink of files and one of rows
SOURCE, FILES, ROWS = 1, 2, 3
CONTAINERS = {SOURCE: 1, FILES: 1, ROWS: 2}
POSITION = "position"
TOPOLOGY = "words"


class Machine:
    """Its processes begin with boot(), and go on with every turn()."""

    def __init__(self, folder: Path, library: Path, dice: random.Random, calls: DiskCalls) -> None:
        (folder / "disk").mkdir()
        self.disk = SyncedDisk(folder / "disk", folder / "notes", library)
        self.calls, self._dice = calls, dice
        self.config = load_config("/dev/null", environ={}, flags={"home": str(self.disk.folder / "home")})
        out = self.disk.folder / "out"
        self._kinds: dict[int, Kind] = {FILES: files(out / "lines"), ROWS: rows(out / "rows.db")}
        #: of the master; it does not jump, but goes a little faster or slower than others
        self.now, self._rate = 1000.0, dice.uniform(0.9, 1.1)
        #: how many numbers there are
        self.limit = 0
        self._lives = 0
        #: versions that the node of the checkpoints has had
        self._version = 0
        self.complaints: list[str] = []
        self.fell_back = ""

    def submit(self) -> None:
        """Durable when it returns, as the command promises."""
        with self.calls.working():
            state = open_state(self.config)
            submitted(state, "effectively_once")
            create_launch(self.config, TOPOLOGY, remote=True)
            state.close()

    def boot(self) -> None:
        """Everything begins anew, with what is on the disk."""
        self._lives += 1
        durable._known.clear()  # these are other processes
        with self.calls.working():
            TopologyLaunch.read(launch_file(self.config, TOPOLOGY))
            self.state = open_state(self.config)
            self.store = open_checkpoint_store(self.config)
            for node in (TREE.scheduler, TREE.master):
                self.state.create(node, b"alive", ephemeral=True)
            self._watch_version()
            self.master_state = MasterState(self.state, TREE, self._lives, self.config)
            self.coordinator = Coordinator(self.master_state, Inline(), lambda: None, lambda: None, self.now)
            self.master_state.take_over()
        self._run, self._saved = 0, 0
        self._sinks: dict[int, Life] = {}
        self._position = 0
        self._stored: dict[int, Stored] = {}

    def turn(self) -> None:
        with self.calls.working():
            self._work()
            for beat in self._beats():
                self.master_state.roster.on_container(beat)
            self.coordinator.refresh()
            self.coordinator.look(self.now)
        self.now += 0.5 * self._rate + self.calls.spent
        self.calls.spent = 0.0
        if self.master_state.node.went_back:
            self.fell_back = self.master_state.node.went_back[-1].because

    @property
    def done(self) -> bool:
        """Whether all that there is has been committed, as far as the sinks know."""
        return self._position >= self.limit and all(
            not life.transactions._prepared and life.sink.writer._file is None
            for life in self._sinks.values()
        )

    def seen(self) -> dict[int, Counter[int]]:
        """What each sink shows."""
        found = {}
        for task, kind in self._kinds.items():
            try:
                found[task] = Counter(map(int, kind.read()))
            except (sqlite3.Error, FileNotFoundError):
                found[task] = Counter()
        return found

    def end(self) -> None:
        """Nobody is left: what the system does for the dead."""
        for life in Life.lives:
            for name in ("_file", "_connection"):
                if (left := getattr(life.sink._writer, name, None)) is not None:
                    left.close()
        Life.lives.clear()
        with contextlib.suppress(Exception):
            self.state.close()

    def damage_newest(self) -> bool:
        """A bit of the newest checkpoint is another one."""
        node = msgspec.json.decode(self._node(), type=Checkpoints) if self._node() else Checkpoints()
        if not node.complete:
            return False
        store = open_checkpoint_store(self.config)
        part = self._dice.choice(sorted(read_manifest(store, node.complete[-1]).parts()))
        path = self.config.home / "checkpoints" / part
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
        return True

    def _node(self) -> bytes:
        state = open_state(self.config)
        try:
            return state.get(TREE.checkpoints).value if state.exists(TREE.checkpoints) else b""
        finally:
            state.close()

    def _watch_version(self) -> None:
        version = self.state.get(TREE.packing_plan).version
        self.state.set(TREE.packing_plan, self.state.get(TREE.packing_plan).value, version=version)
        after = self.state.get(TREE.packing_plan).version
        if after <= max(version, self._version):
            self.complaints.append(f"version: {after} after {max(version, self._version)}")
        self._version = version

    def _work(self) -> None:
        node = self.master_state.node
        if node.run != self._run and set(node.members.values()) == {self._lives}:
            self._begin_run(node)
        if not self._run or node.run != self._run:
            return
        for _ in range(self._dice.randrange(4)):
            if self._position < self.limit:
                for life in self._sinks.values():
                    life.write(self._position)
                self._position += 1
        if node.started > max(self._saved, node.aborted):
            self._save(node.started)
        if node.complete:
            for life in self._sinks.values():
                life.transactions.complete(node.complete[-1].id)

    def _begin_run(self, node: Checkpoints) -> None:
        saved: dict[int, Any] = {}
        if node.base is not None:
            for task in read_manifest(self.store, node.base).tasks:
                for part in task.parts:
                    saved[task.task] = read_object(part.object, read_part(self.store, part)).extras
        self._run, self._saved = node.run, node.started
        self._position = int(saved.get(SOURCE, {}).get(POSITION, b"0"))
        self._sinks = {
            task: kind.life(task, saved.get(task, {}).get(TRANSACTIONS, b""))
            for task, kind in self._kinds.items()
        }

    def _save(self, checkpoint: int) -> None:
        self._saved = checkpoint
        extras = {SOURCE: {POSITION: str(self._position).encode()}}
        for task, life in self._sinks.items():
            extras[task] = {TRANSACTIONS: life.transactions.prepare(checkpoint)}
        for task, sections in extras.items():
            self._stored[task] = self._written(task, checkpoint, Sections({}, sections))

    def _written(self, task: int, checkpoint: int, sections: Sections) -> Stored:
        pieces, checksum = write_object(sections)
        prefix = checkpoint_prefix(own_prefix(TOPOLOGY, EXECUTION), checkpoint)
        name = f"{prefix}/{task}-{self._lives}"

        def slowly() -> Any:
            for piece in pieces:
                yield piece
                # meanwhile another process begins
                open_checkpoint_store(self.config).close()

        try:
            self.store.write(name, slowly())
        except StoreError as error:
            return Stored(id=checkpoint, run=self._run, error=str(error))
        part = Part(object=name, checksum=checksum, bytes=sum(map(len, pieces)), groups=[], whole=True)
        life = self._sinks.get(task)
        transactions = life.transactions.uncommitted if life is not None else 0
        return Stored(id=checkpoint, run=self._run, parts=[part], transactions=transactions)

    def _beats(self) -> list[ContainerBeat]:
        found: dict[int, list[ProcessBeat]] = {}
        for task, container in CONTAINERS.items():
            beat = InstanceBeat(task=task, state="starting", current_epoch=1)
            if self._run:
                beat.state, beat.run = "running", self._run
            if task in self._stored:
                beat.snapshot.CopyFrom(self._stored[task])
            process = ProcessBeat(slot=task, incarnation=self._lives, instances=[beat])
            found.setdefault(container, []).append(process)
        return [
            ContainerBeat(container=container, incarnation=self._lives, processes=processes)
            for container, processes in found.items()
        ]
