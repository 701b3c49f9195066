"""Saves the state of a task while it runs: groups that changed since the last save, or that move."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal

from heronpy.instances.saving.state.encoding import one_line
from heronpy.instances.saving.state.keyed import Image
from heronpy.instances.saving.state.object_format import Sections
from heronpy.instances.saving.state.object_writer import ObjectWriter
from heronpy.instances.saving.state.state_loader import STATE
from heronpy.instances.saving.state.task_state import TaskState
from heronpy.kernel.checkpoints.object_names import checkpoint_prefix, update_prefix
from heronpy.kernel.checkpoints.stored import StoredPart
from heronpy.kernel.plugin.checkpoint_store import CheckpointStore
from heronpy.kernel.protocol import Part, Stored
from heronpy.kernel.trace_points import step

Kind = Literal["snapshot", "handover"]

#: objects that a checkpoint of a task may consist of; what is beyond is written anew, so that old ones can go
_MOST_OBJECTS: Final = 16

#: seconds that one call of work() encodes for: while a snapshot is open every access to the state costs more,
#: so few calls are better than many; but frames wait meanwhile: it is about a chunk of process() calls
BUDGET: Final = 0.002

_STEPS: Final = {"snapshot": "checkpoint", "handover": "update.handover"}


class _Job:
    """One object on its way into the store."""

    def __init__(self, kind: Kind, stored: Stored, name: str) -> None:
        self.kind = kind
        #: the report, so far with what lies in older objects
        self.stored = stored
        self.name = name
        self.image: Image | None = None
        self.extras: dict[str, bytes] = {}
        #: of a state that is not keyed, in the extras
        self.entries = 0
        self.chunks: dict[int, list[bytes]] = {}
        self.cancelled = False

    def encode_more(self) -> bool:
        """Whether there is more to encode."""
        found = self.image.next_chunks() if self.image is not None else None
        for group, chunk in found or ():
            if chunk:
                self.chunks.setdefault(group, []).append(chunk)
        return found is not None

    def release(self) -> None:
        if self.image is not None:
            self.image.release()

    def sections(self) -> Sections:
        return Sections({group: b"".join(chunks) for group, chunks in self.chunks.items()}, self.extras)

    def step(self, name: str) -> None:
        step(f"{_STEPS[self.kind]}.{name}")


class Saver:
    """Takes snapshots of a task's state and hands groups over, one at a time.

    `store` opens the checkpoint store, in the thread that writes to it. `prefix` is the execution's own;
    names also have the task and its incarnation, so that no two processes write the same object. `on_stored`
    is called once for each snapshot and handover that is not given up, from any thread, with the report and
    "snapshot" or "handover". One that is begun ends an earlier one that is not encoded yet.
    """

    def __init__(
        self,
        state: TaskState,
        store: Callable[[], CheckpointStore],
        prefix: str,
        on_stored: Callable[[Stored, Kind], None],
        incarnation: int,
        clock: Callable[[], float],
    ) -> None:
        self._state = state
        self._store = store
        self._prefix = prefix
        self._on_stored = on_stored
        self._clock = clock
        self._suffix = f"{state.task_id}-{incarnation}"
        self._writer: ObjectWriter | None = None
        #: what is being encoded
        self._job: _Job | None = None
        #: what is being written
        self._writing: _Job | None = None
        self._written: deque[tuple[_Job, StoredPart]] = deque()

    def snapshot(self, checkpoint: int, run: int, extras: Mapping[str, bytes], transactions: int = 0) -> None:
        """Freeze the state as it is now. It is encoded by `work()`, and written by a thread."""
        self._cancel()
        name = f"{checkpoint_prefix(self._prefix, checkpoint)}/{self._suffix}"
        dirty = self._dirty()
        parts = _parts(self._state.ledger)
        stored = Stored(id=checkpoint, run=run, parts=parts, transactions=transactions)
        self._begin(_Job("snapshot", stored, name), dirty, extras, whole=True)

    def hand_over(
        self,
        epoch: int,
        run: int,
        groups: Iterable[int],
        extras: Mapping[str, bytes],
        *,
        whole: bool = False,
    ) -> None:
        """Freeze some groups as they are now; `whole`: also all of a state that is not keyed."""
        self._cancel()
        name = f"{update_prefix(self._prefix, epoch)}/{self._suffix}"
        stored = Stored(id=epoch, run=run, held=self._state.held())
        self._begin(_Job("handover", stored, name), groups, extras, whole=whole)

    def work(self) -> bool:
        """Encode for a while, if there is anything; True while there is. Called between frames."""
        job = self._job
        if job is None:
            return False
        until = self._clock() + BUDGET
        try:
            while job.encode_more():
                if self._clock() >= until:
                    return True
        except Exception as error:  # a value that cannot be pickled, or whose own code says so
            self._fail(job, one_line(error))
            return False
        self._job = None
        job.release()
        job.step("encoded")
        self._write(job)
        return False

    def abandon(self) -> None:
        """Discard what was begun: it is not reported any more. The saver can be used again."""
        self._abandon(wait=False)

    def close(self) -> None:
        """As abandon(), but an object that is being written is waited for, for a while."""
        self._abandon(wait=True)

    def _begin(self, job: _Job, groups: Iterable[int], extras: Mapping[str, bytes], *, whole: bool) -> None:
        try:
            state = self._state.whole() if whole else None
        except Exception as error:
            self._fail(job, one_line(error))
            return
        job.extras = dict(extras)
        if state is not None:
            job.extras[STATE] = state
            job.entries = len(self._state.open())
        job.image = self._state.freeze(groups, keep_changes=job.kind == "handover")
        if job.kind == "snapshot":
            self._state.ledger.update(dict.fromkeys(groups, job))
            self._state.note_snapshot(job.stored.id)
        job.step("frozen")
        self._job = job
        if job.image is None:
            self.work()

    def _dirty(self) -> list[int]:
        """The groups that are to be written: the ledger is left with those that need not be."""
        ledger, owned = self._state.ledger, self._state.owned()
        while self._written:
            job, part = self._written.popleft()
            ledger.update({group: part for group in part.groups if ledger.get(group) is job})
        changed = self._state.changed()
        kept = {
            group: part
            for group, part in ledger.items()
            if isinstance(part, StoredPart)
            and part.object.startswith(f"{self._prefix}/")
            and group in owned
            and changed is not None
            and group not in changed
        }
        uses = Counter(part.object for part in kept.values())
        most_used = {name for name, _ in uses.most_common(_MOST_OBJECTS - 1)}
        ledger.clear()
        ledger.update({group: part for group, part in kept.items() if part.object in most_used})
        return [group for group in owned if group not in ledger]

    def _write(self, job: _Job) -> None:
        sections = job.sections()
        if not sections and self._writer is None:
            self._on_stored(job.stored, job.kind)
            return
        # also where there is nothing to write: the report must not come before that of an earlier object
        self._writing = job
        if self._writer is None:
            self._writer = ObjectWriter(self._store)
        self._writer.write(job.name, sections, lambda part, error: self._done(job, part, error))

    def _done(self, job: _Job, part: StoredPart | None, error: str) -> None:
        """Called by the writer's thread."""
        if job.cancelled:
            return
        if error:
            self._report_failure(job, error)
            return
        if part is not None:
            if job.kind == "snapshot":
                self._written.append((job, part))
            job.stored.parts.append(_part(part, part.groups, whole=part.whole, entries=job.entries))
            job.step("stored")
        self._on_stored(job.stored, job.kind)

    def _fail(self, job: _Job, error: str) -> None:
        self._job = None
        job.release()
        self._report_failure(job, error)

    def _report_failure(self, job: _Job, error: str) -> None:
        self._on_stored(Stored(id=job.stored.id, run=job.stored.run, error=error), job.kind)

    def _cancel(self) -> None:
        """Give up what is not encoded yet."""
        if self._job is not None:
            self._job.release()
            self._job = None

    def _abandon(self, *, wait: bool) -> None:
        self._cancel()
        if self._writing is not None:
            self._writing.cancelled = True
        if self._writer is not None:
            self._writer.end(wait=wait)
            self._writer = None


def _parts(ledger: Mapping[int, object]) -> list[Part]:
    """The objects that a ledger names, each with the groups that count."""
    groups: dict[str, list[int]] = {}
    parts: dict[str, StoredPart] = {}
    for group, part in ledger.items():
        assert isinstance(part, StoredPart)
        parts[part.object] = part
        groups.setdefault(part.object, []).append(group)
    return [_part(part, groups[name], whole=False) for name, part in parts.items()]


def _part(part: StoredPart, groups: Iterable[int], *, whole: bool, entries: int = 0) -> Part:
    return Part(
        object=part.object,
        checksum=part.checksum,
        bytes=part.bytes,
        groups=sorted(groups),
        whole=whole,
        opaque=entries > 0,
        entries=entries,
    )
