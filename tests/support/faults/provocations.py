"""What makes a running topology come to each of its steps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, NamedTuple

DOCS = Path(__file__).parent.parent.parent.parent / "docs" / "steps.md"

How = Literal["submit", "wait", "kill a counter", "kill the master", "update", "restart a container"]


class Provocation(NamedTuple):
    """What is done, and who must die first."""

    how: How
    #: other steps at which somebody is killed on the way there
    earlier: tuple[str, ...] = ()


_WAIT = Provocation("wait")
_UPDATE = Provocation("update")
_RESTART = Provocation("restart a container")

#: by the command; what it has begun is there afterwards as a whole, or can be killed
SUBMIT = dict.fromkeys(
    (
        "submit.claimed",
        "submit.launch.written",
        "submit.definition.written",
        "submit.packing.written",
        "submit.checkpoints.written",
        "submit.written",
        "submit.started",
    ),
    Provocation("submit"),
)
#: of a topology that counts words, effectively once
CHECKPOINT = {
    **dict.fromkeys(
        (
            "checkpoint.starting",
            "checkpoint.started",
            "checkpoint.barrier.sent",
            "checkpoint.frozen",
            "checkpoint.encoded",
            "checkpoint.stored",
            "checkpoint.manifest.writing",
            "checkpoint.manifest.written",
            "checkpoint.completing",
            "checkpoint.completed",
            "checkpoint.collected",
        ),
        _WAIT,
    ),
    "checkpoint.giving_up": Provocation("wait", ("checkpoint.frozen",)),
    "checkpoint.given_up": Provocation("wait", ("checkpoint.encoded",)),
    "checkpoint.taking_over": Provocation("kill the master"),
    "checkpoint.taken_over": Provocation("kill the master"),
}
RESTORE = dict.fromkeys(
    (
        "restore.everybody_there",
        "restore.run.writing",
        "restore.run.written",
        "restore.abandoned",
        "restore.loaded",
        "restore.initialized",
    ),
    Provocation("kill a counter"),
)
TO_THE_COMMIT = dict.fromkeys(
    (
        "update.next_plan.writing",
        "update.next_plan.written",
        "update.prepare.writing",
        "update.prepare",
        "update.prepared",
        "update.cut.writing",
        "update.cut",
        "update.cut.marked",
        "update.drained",
        "update.handover.frozen",
        "update.handover.encoded",
        "update.handover.stored",
        "update.handover.empty",
        "update.load.writing",
        "update.load",
        "update.loaded",
        "update.members.writing",
        "update.members.written",
        "update.committing",
    ),
    _UPDATE,
)
FROM_THE_COMMIT = {
    **dict.fromkeys(
        (
            "update.committed",
            "update.release.writing",
            "update.release",
            "update.routed",
            "update.switched",
            "update.packing.writing",
            "update.packing.written",
            "update.done.writing",
            "update.done",
        ),
        _UPDATE,
    ),
    # with the packing it is ended, whether it has heard of the release or not
    "update.retired": Provocation("update", ("update.packing.writing",)),
}
#: a master that finds an update begun by its predecessor takes it back
BACK = dict.fromkeys(
    (
        "update.rollback.writing",
        "update.rollback",
        "update.let_go",
        "update.rolled_back.writing",
        "update.rolled_back",
    ),
    Provocation("update", ("update.cut",)),
)
#: at least once
RESTART = dict.fromkeys(("update.restart.asking", "update.restart.asked", "update.restart.loaded"), _RESTART)
#: of a topology with a transactional sink
TRANSACTIONS = {
    "checkpoint.transaction.prepared": _WAIT,
    "checkpoint.transaction.committed": _WAIT,
    "restore.transactions.recovered": Provocation("kill a counter"),
}

AREAS = (SUBMIT, CHECKPOINT, RESTORE, TO_THE_COMMIT, FROM_THE_COMMIT, BACK, RESTART, TRANSACTIONS)


def documented() -> dict[str, str]:
    """Every step of docs/steps.md, and which process takes it."""
    rows = re.findall(r"^\| `([a-z_.]+)` \| ([^|]+) \|", DOCS.read_text(), re.MULTILINE)
    assert len(rows) == len(dict(rows)), "a step is listed twice"
    return {name: process.strip() for name, process in rows}


def of_the_master(steps: dict[str, Provocation]) -> dict[str, Provocation]:
    """Those of them at which the Topology Master dies."""
    processes = documented()
    return {name: how for name, how in steps.items() if processes[name] == "Topology Master"}
