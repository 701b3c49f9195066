"""A change of plan as the Topology Master conducts it: every phase, and every way to fail in it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from support.tasks.puppets import TREE, Conductor, Crew, packing, proposal, submitted

from heronpy.kernel.config import Config
from heronpy.kernel.master.updating.decide import NO_STORE
from heronpy.kernel.plans import PhysicalPlan
from heronpy.kernel.plugin import StateManager
from heronpy.kernel.protocol import Held, InstanceBeat
from heronpy.kernel.tree.paths import START_BITS, ChildView, Execution, ExecutorNode
from heronpy.kernel.tree.registrations import read
from heronpy.kernel.tree.requests import Request
from heronpy.kernel.tree.update import Ledger, Phase, Update, UpdateFailure

#: what keeps an update in a phase
STOPS: dict[Phase, Callable[[InstanceBeat], None]] = {
    "prepare": lambda beat: beat.ClearField("next_epoch"),
    "cut": lambda beat: beat.ClearField("handover"),
    "load": lambda beat: beat.ClearField("loaded_epoch"),
}
UNDER_WAY: tuple[Phase, ...] = ("prepare", "cut", "load")


def running(state: StateManager, config: Config) -> Conductor:
    submitted(state, "at_most_once")
    conductor = Conductor(state, config, Crew(state, config))
    conductor.turn()
    return conductor


def current(conductor: Conductor) -> Update:
    update = read(conductor.master_state.state, TREE.update, Update)
    assert update is not None
    return update


def stopped_in(state: StateManager, config: Config, phase: Phase) -> Conductor:
    """An update to three counters that does not get out of a phase."""
    conductor = running(state, config)
    conductor.crew.twist = STOPS[phase]
    state.set(TREE.update, proposal(2, 3, 4).to_json())
    conductor.until(lambda: current(conductor).phase == phase, turns=20)
    for _ in range(3):
        conductor.turn()
    assert current(conductor).phase == phase
    return conductor


def check_rolled_back(conductor: Conductor, reason: str) -> None:
    for _ in range(3):
        conductor.turn()
    update = current(conductor)
    assert (update.phase, update.reason) == ("rolled_back", reason)
    assert conductor.master_state.plan.epoch == 1
    assert conductor.master_state.packing() == packing(2, 3)
    assert conductor.coordinator.update_status() is None


def test_up_and_down_and_the_next_one_counts_on(state: StateManager, config: Config) -> None:
    conductor = running(state, config)
    for epoch, counters in ((2, (2, 3, 4, 5)), (3, (2,)), (4, (2, 6))):
        state.set(TREE.update, proposal(*counters, epoch=epoch).to_json())
        conductor.until(lambda: current(conductor).phase == "done")
        plan = read(state, TREE.physical_plan, PhysicalPlan)
        assert plan is not None
        assert (plan.epoch, [task.id for task in plan.tasks]) == (epoch, [1, *counters])
        assert conductor.master_state.packing() == packing(*counters, epoch=epoch)
        assert set(plan.key_groups["count"]) == set(counters)
        assert current(conductor).members == dict.fromkeys((1, *counters), 1)


def test_the_ledger_says_what_it_cost(state: StateManager, config: Config) -> None:
    conductor = running(state, config)
    lost = [3]
    conductor.master_state.lost = lambda: lost[0]

    def held(beat: InstanceBeat) -> None:
        beat.held_seconds = 0.25 if beat.task == 1 else 0.0
        if beat.loaded_epoch:
            lost[0] = 5

    conductor.crew.twist = held
    state.set(TREE.update, proposal(2, 3, 4, 5).to_json())
    conductor.until(lambda: current(conductor).phase == "done")
    ledger = current(conductor).ledger
    assert isinstance(ledger, Ledger)
    assert (ledger.lost, ledger.pause_seconds, ledger.groups_moved, ledger.groups) == (2, 0.25, 4, 8)
    assert ledger.bytes_moved == len("count[0] 2") + len("count[1] 2")
    assert set(ledger.phases) == {"prepare", "cut", "load", "release"}


def test_what_was_handed_over_is_removed_when_it_is_over(state: StateManager, config: Config) -> None:
    conductor = running(state, config)
    state.set(TREE.update, proposal(2, 3, 4).to_json())
    conductor.until(lambda: bool(current(conductor).handovers))
    assert conductor.crew.store.names("words/execution/update-2/")
    conductor.until(lambda: current(conductor).phase == "done")
    assert conductor.crew.store.names("words/execution/update-2/") == []


def test_the_components_are_cut_upstream_first_each_when_the_one_before_has_handed_over(
    state: StateManager, config: Config
) -> None:
    conductor = running(state, config)

    def late(beat: InstanceBeat) -> None:
        if beat.task == 1 and conductor.now < until:
            beat.ClearField("handover")

    until = conductor.now + 2.0
    conductor.crew.twist = late
    after = packing(2, 3, 4, epoch=2)
    first = after.containers[0]
    # another spout beside line[0]
    more = msgspec.structs.replace(
        first,
        instances=(*first.instances, msgspec.structs.replace(first.instances[0], task=7, index=1)),
    )
    after = msgspec.structs.replace(after, containers=(more, *after.containers[1:]))
    state.set(TREE.update, msgspec.structs.replace(proposal(2, 3, 4), packing=after).to_json())
    conductor.until(lambda: current(conductor).phase == "cut")
    conductor.turn()
    assert current(conductor).cut == ("line",)
    status = conductor.coordinator.update_status()
    assert status is not None
    assert (status.phase, status.cut, status.waits_for) == ("cut", ("line",), ("line[0] (running)",))
    conductor.until(lambda: current(conductor).phase == "done")
    assert current(conductor).cut == ("line", "count")


@pytest.mark.parametrize("phase", UNDER_WAY)
@pytest.mark.parametrize("task", [1, 3, 4])
def test_who_is_another_process_now_ends_it(
    state: StateManager, config: Config, phase: Phase, task: int
) -> None:
    conductor = stopped_in(state, config, phase)
    conductor.crew.incarnations[task] = 2
    label = {1: "line[0]", 3: "count[1]", 4: "count[2]"}[task]
    if (phase, task) == ("prepare", 4):
        # of a new task that has not said yet that it knows the plan, it does not matter which it is
        conductor.crew.twist = lambda beat: None
        conductor.until(lambda: current(conductor).phase == "done")
        return
    check_rolled_back(conductor, f"{label} was started again")


@pytest.mark.parametrize("phase", UNDER_WAY)
@pytest.mark.parametrize("container", [1, 3])
def test_a_stream_manager_that_is_another_one_now_ends_it(
    state: StateManager, config: Config, phase: Phase, container: int
) -> None:
    conductor = stopped_in(state, config, phase)
    if (phase, container) == ("prepare", 3):
        # one of its tasks has said that it knows the plan
        conductor.crew.twist = lambda beat: beat.ClearField("next_epoch") if beat.task != 4 else None
        conductor.turn()
    conductor.crew.managers[container] = 2
    check_rolled_back(conductor, f"the stream manager of container {container} was started again")


def test_a_task_of_an_earlier_try_that_still_speaks_is_not_taken_for_the_new_one(
    state: StateManager, config: Config
) -> None:
    conductor = stopped_in(state, config, "prepare")
    conductor.master_state.roster.executors = {3: ExecutorNode(incarnation=1, pid=7)}
    conductor.turn()
    assert current(conductor).phase == "prepare"
    conductor.crew.twist = lambda beat: None
    conductor.crew.incarnations[4] = conductor.crew.managers[3] = 1 << START_BITS | 1
    conductor.until(lambda: current(conductor).phase == "done")
    assert current(conductor).members[4] > 1 << START_BITS


@pytest.mark.parametrize("phase", UNDER_WAY)
def test_who_was_there_and_ended_with_its_container_ends_it(
    state: StateManager, config: Config, phase: Phase
) -> None:
    conductor = stopped_in(state, config, phase)
    (container,) = {each.container for each in conductor.master_state.plan.tasks if each.label == "count[1]"}
    conductor.master_state.roster.executors = {container: ExecutorNode(incarnation=1, pid=7)}
    check_rolled_back(conductor, "count[1] (ended with its container)")


@pytest.mark.parametrize("phase", ["cut", "load"])
def test_a_new_task_that_was_there_and_ended_with_its_container_ends_it(
    state: StateManager, config: Config, phase: Phase
) -> None:
    conductor = stopped_in(state, config, phase)
    conductor.master_state.roster.executors = {3: ExecutorNode(incarnation=1, pid=7)}
    check_rolled_back(conductor, "count[2] (ended with its container)")


def test_whose_end_is_written_is_not_put_in_force_though_the_watch_has_not_told(
    state: StateManager, config: Config
) -> None:
    conductor = stopped_in(state, config, "load")
    conductor.published = {3: ExecutorNode(incarnation=1, pid=7)}
    conductor.crew.twist = lambda beat: None
    check_rolled_back(conductor, "count[2] (ended with its container)")


@pytest.mark.parametrize("phase", UNDER_WAY)
@pytest.mark.parametrize(
    ("who", "reason"),
    [
        ("count[2]", "count[2] (ended: signal 9 (killed))"),
        ("stream-manager-1", "the stream manager of container 1 ended: signal 9 (killed)"),
    ],
)
def test_whose_executor_has_seen_it_end_need_not_come_back_first(
    state: StateManager, config: Config, phase: Phase, who: str, reason: str
) -> None:
    conductor = stopped_in(state, config, phase)
    killed = ChildView(pid=0, state="waiting", restarts=1, last_exit="signal 9 (killed)", since=0.0, gone=1)
    conductor.master_state.roster.executors = conductor.executors(who, killed)
    check_rolled_back(conductor, reason)


@pytest.mark.parametrize(
    ("phase", "reason"),
    [
        (
            "prepare",
            "prepare took longer than 5 s, waiting for"
            " line[0] (running), count[0] (running), count[1] (running), count[2] (ready)",
        ),
        ("cut", "cut took longer than 5 s, waiting for count[0] (running), count[1] (running)"),
        (
            "load",
            "load took longer than 5 s, waiting for"
            " line[0] (running), count[0] (running), count[1] (running), count[2] (ready)",
        ),
    ],
)
def test_a_phase_that_takes_too_long_names_who_was_late(
    state: StateManager, config: Config, phase: Phase, reason: str
) -> None:
    conductor = stopped_in(state, config, phase)
    conductor.turn(5.0)
    check_rolled_back(conductor, reason)


def test_who_asks_may_say_how_long_a_phase_may_take(state: StateManager, config: Config) -> None:
    conductor = running(state, config)
    conductor.crew.twist = STOPS["cut"]
    state.set(TREE.update, msgspec.structs.replace(proposal(2, 3, 4), timeout=1.0).to_json())
    conductor.until(lambda: current(conductor).phase == "rolled_back", turns=20)
    assert current(conductor).reason.startswith("cut took longer than 1 s")


def test_what_cannot_be_handed_over_ends_it(state: StateManager, config: Config) -> None:
    conductor = stopped_in(state, config, "cut")

    def full(beat: InstanceBeat) -> None:
        if beat.task == 3 and beat.next_epoch:
            beat.handover.id, beat.handover.error = 2, "disk full"

    conductor.crew.twist = full
    check_rolled_back(conductor, "count[1]: disk full")


def test_a_new_task_that_fails_ends_it_with_its_own_words(state: StateManager, config: Config) -> None:
    conductor = running(state, config)

    def fails(beat: InstanceBeat) -> None:
        if beat.task == 4:
            beat.state, beat.error = "failed", "ValueError: no (words.py:3 in initialize)"

    conductor.crew.twist = fails
    state.set(TREE.update, proposal(2, 3, 4).to_json())
    conductor.until(lambda: current(conductor).phase == "rolled_back")
    check_rolled_back(conductor, "count[2] (ValueError: no (words.py:3 in initialize))")


def test_a_scheduler_that_cannot_do_its_part_ends_it(state: StateManager, config: Config) -> None:
    conductor = stopped_in(state, config, "prepare")
    state.set(TREE.update_failure, msgspec.json.encode(UpdateFailure(1, "of an earlier one")))
    conductor.turn()
    assert current(conductor).phase == "prepare"
    state.set(TREE.update_failure, msgspec.json.encode(UpdateFailure(2, "no room for container 3")))
    check_rolled_back(conductor, "no room for container 3")


def test_a_plan_that_somebody_else_has_put_in_force_is_not_overwritten(
    state: StateManager, config: Config
) -> None:
    conductor = stopped_in(state, config, "load")
    state.set(TREE.physical_plan, state.get(TREE.physical_plan).value)
    conductor.crew.twist = lambda beat: None
    check_rolled_back(conductor, "another plan was put in force")


def test_a_packing_that_cannot_be_is_refused(state: StateManager, config: Config) -> None:
    conductor = running(state, config)
    state.set(TREE.update, proposal(epoch=2).to_json())
    conductor.turn()
    check_rolled_back(conductor, "the packing leaves no instance of 'count': keep one")


def test_it_begins_when_everybody_is_at_work_or_not_at_all(state: StateManager, config: Config) -> None:
    conductor = running(state, config)
    waiting = ChildView(pid=0, state="waiting", restarts=1, last_exit="exit 1", since=0.0, gone=1)
    conductor.master_state.roster.executors = conductor.executors("count[0]", waiting)
    state.set(TREE.update, proposal(2, 3, 4).to_json())
    conductor.turn()
    assert current(conductor).phase == "proposed"
    conductor.turn(6.0)
    check_rolled_back(conductor, "not every process is running as planned: count[0] (ended: exit 1)")
    conductor.master_state.roster.executors = {}
    state.set(TREE.update, proposal(2, 3, 4, epoch=3).to_json())
    conductor.until(lambda: current(conductor).phase == "done")


@pytest.mark.parametrize("task", [1, 2, 4])
def test_after_the_commit_it_only_goes_forward_whoever_dies(
    state: StateManager, config: Config, task: int
) -> None:
    conductor = running(state, config)
    behind = [True]

    def late(beat: InstanceBeat) -> None:
        if behind[0]:
            beat.current_epoch = 1

    conductor.crew.twist = late
    state.set(TREE.update, proposal(2, 3, 4).to_json())
    conductor.until(lambda: current(conductor).phase == "release")
    conductor.crew.incarnations[task] = 2
    for _ in range(100):
        conductor.turn()
    assert current(conductor).phase == "release", "for as long as it takes"
    behind[0] = False
    conductor.turn()
    assert current(conductor).phase == "done"


def test_nobody_is_waited_for_too_long_who_does_not_let_go(state: StateManager, config: Config) -> None:
    conductor = stopped_in(state, config, "load")

    def clings(beat: InstanceBeat) -> None:
        beat.next_epoch = 2
        beat.ClearField("loaded_epoch")

    conductor.crew.twist = clings
    conductor.crew.incarnations[4] = 2
    conductor.turn()
    assert current(conductor).phase == "rollback"
    conductor.turn(1.0)
    assert current(conductor).phase == "rollback"
    conductor.turn(5.0)
    assert current(conductor).phase == "rolled_back"


def test_a_restart_that_was_refused_is_asked_for_again(state: StateManager, config: Config) -> None:
    conductor = running(state, config)
    refused: list[str] = []
    request = f"{TREE.requests}/update-2-2"

    def refuse_once(beat: InstanceBeat) -> None:
        del beat
        if not refused and state.exists(request):
            refused.append(request)
            answer = Request(kind="restart", container=2, error="the scheduler is busy")
            state.set(request, msgspec.json.encode(answer))

    restart = conductor.crew._restart_containers
    conductor.crew._restart_containers = lambda: restart() if refused else None  # type: ignore[method-assign]
    conductor.crew.twist = refuse_once
    update = msgspec.structs.replace(
        proposal(2, 3), kind="restart", containers=(2,), packing=packing(2, 3, epoch=2)
    )
    state.set(TREE.update, update.to_json())
    conductor.until(lambda: current(conductor).phase == "done")
    assert refused == [request]
    assert conductor.crew.incarnations == {3: 2}
    assert [(one.task, one.incarnation) for one in current(conductor).handovers] == [(3, 1)]


def test_the_same_update_can_be_tried_again_with_other_processes(state: StateManager, config: Config) -> None:
    conductor = stopped_in(state, config, "load")
    conductor.turn(5.0)
    conductor.until(lambda: current(conductor).phase == "rolled_back")
    conductor.crew.twist = lambda beat: None
    conductor.crew.incarnations[4], conductor.crew.managers[3] = 2, 2
    state.set(TREE.update, proposal(2, 3, 4, epoch=3).to_json())
    conductor.until(lambda: current(conductor).phase not in ("proposed", *UNDER_WAY))
    assert current(conductor).phase in ("release", "done")


def test_effectively_once_it_is_between_tasks_of_one_run(state: StateManager, config: Config) -> None:
    submitted(state, "effectively_once")
    conductor = Conductor(state, config, Crew(state, config))
    conductor.until(lambda: conductor.master_state.node.run == 1, turns=3)
    assert conductor.master_state.node.epoch == 1, "who takes part must know this plan"

    def in_no_run(task: int) -> Callable[[InstanceBeat], None]:
        def twist(beat: InstanceBeat) -> None:
            if beat.task == task:
                beat.run = beat.handover.run = 0

        return twist

    conductor.crew.twist = in_no_run(3)
    state.set(TREE.update, proposal(2, 3, 4).to_json())
    conductor.turn()
    assert (current(conductor).phase, conductor.coordinator._update.waits_for) == (
        "proposed",
        ["count[1] (in run 0 of 1)"],
    )
    conductor.crew.twist = in_no_run(4)
    for _ in range(3):
        conductor.turn()
    assert (current(conductor).phase, conductor.coordinator._update.waits_for) == (
        "prepare",
        ["count[2] (ready)"],
    )
    conductor.crew.twist = lambda beat: None
    conductor.until(lambda: current(conductor).phase == "done")


def keeping(task: int, *, keyed: int = 0, own: int = 0) -> Callable[[InstanceBeat], None]:
    """A task that says, when all its input has been worked off, that it keeps this."""

    def twist(beat: InstanceBeat) -> None:
        if beat.task == task and beat.HasField("handover"):
            beat.handover.held.CopyFrom(Held(keyed=keyed, own=own, used=True))

    return twist


def test_state_that_cannot_go_along_is_found_at_the_cut_and_nothing_changes(
    state: StateManager, config: Config
) -> None:
    """Also where the task said before that it kept nothing."""
    conductor = running(state, config)
    conductor.crew.twist = keeping(3, own=7)
    state.set(TREE.update, proposal(2).to_json())
    conductor.until(lambda: current(conductor).phase == "rolled_back")
    check_rolled_back(
        conductor,
        "state of count[1] (7 entries) belongs to no key and ends with its task (--yes updates anyway)",
    )


def test_state_that_moves_with_its_keys_is_no_reason(state: StateManager, config: Config) -> None:
    conductor = running(state, config)
    conductor.crew.twist = keeping(3, keyed=7)
    state.set(TREE.update, proposal(2).to_json())
    conductor.until(lambda: current(conductor).phase == "done")
    ledger = current(conductor).ledger
    assert ledger is not None
    assert ledger.given_up == ()


def test_whoever_agreed_to_a_loss_is_told_what_it_was(state: StateManager, config: Config) -> None:
    conductor = running(state, config)
    conductor.crew.twist = keeping(3, own=7)
    state.set(TREE.update, msgspec.structs.replace(proposal(2), accepts_loss=True).to_json())
    conductor.until(lambda: current(conductor).phase == "done")
    ledger = current(conductor).ledger
    assert ledger is not None
    assert ledger.given_up == ("state of count[1] (7 entries) belongs to no key and ends with its task",)


@pytest.mark.parametrize("kind", ["scale", "restart"])
def test_machines_without_a_common_store_cannot_hand_anything_over(
    state: StateManager, config: Config, kind: str
) -> None:
    submitted(state, "at_most_once")
    execution = Execution("execution", "me", 0.0, "0", "test", "local", "localfs", apart=True)
    state.set(TREE.execution, msgspec.json.encode(execution))
    conductor = Conductor(state, config, Crew(state, config))
    conductor.turn()
    wanted = proposal(2, 3, 4) if kind == "scale" else proposal(2, 3)
    asked = msgspec.structs.replace(wanted, kind=kind, containers=(2,), accepts_loss=True)
    state.set(TREE.update, asked.to_json())
    conductor.until(lambda: current(conductor).phase == "rolled_back")
    giver = "count[0]" if kind == "scale" else "count[1]"
    check_rolled_back(conductor, f"{giver} has state to hand over, and its machines have {NO_STORE}")

    # … and what keeps nothing is changed as anywhere
    def keeps_nothing(beat: InstanceBeat) -> None:
        del beat.handover.parts[:]

    conductor.crew.twist = keeps_nothing
    state.set(TREE.update, proposal(2, 3, 5, epoch=3).to_json())
    conductor.until(lambda: current(conductor).phase == "done")
