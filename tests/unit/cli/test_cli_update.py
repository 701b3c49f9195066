"""update as its user sees it; what the master would do is written into the tree by the test."""

from __future__ import annotations

import gc
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
import pytest
from click.testing import Result

from heronpy.cli.changing.planned_restart import restart_as_planned
from heronpy.cli.changing.proposal import look, propose
from heronpy.cli.changing.update_checks import doubts
from heronpy.cli.reading import topologies
from heronpy.cli.submitting.submission import prepare
from heronpy.cli.views.update_diff import diff_lines
from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import PackingError, UserError
from heronpy.kernel.master import client
from heronpy.kernel.plans import LogicalPlan, PackingPlan, PhysicalPlan, next_plan, physical_plan
from heronpy.kernel.plans.logical import Reliability
from heronpy.kernel.plugin import Registry, StateManager, opening
from heronpy.kernel.state_transfer import KeptState
from heronpy.kernel.status import InstanceStatus, TopologyStatus
from heronpy.kernel.tree.live_node import change_live, config_for
from heronpy.kernel.tree.paths import Execution, Live, Registration, Tree
from heronpy.kernel.tree.update import CLOSED, Ledger, Phase, Update
from heronpy.plugins.packing.round_robin import RoundRobin
from heronpy.testing.waiting import eventually

Heronpy = Callable[..., Result]

TREE = Tree("Shop")
#: a public key that nobody has the other half of
KEY = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"

SHOP = """
from heronpy import Bolt, Grouping, Spout, Topology
from heronpy.state import StatefulComponent

class Orders(Spout):
    outputs = ["customer"]
    def next_tuple(self): ...

class Spent(Bolt):
    outputs = ["customer", "cents"]
    def process(self, tup):
        self.state[tup.customer] = self.state.get(tup.customer, 0) + 1

class Seen(Bolt):
    def process(self, tup):
        self.seen = tup

class Window(Bolt, StatefulComponent):
    def process(self, tup): ...

class Shop(Topology):
    orders = Orders.spec(par=2)
    spent = Spent.spec(par=2, inputs={orders: Grouping.fields("customer")})
    seen = Seen.spec(par=1, inputs={spent: Grouping.fields("customer")})
    window = Window.spec(par=1, inputs=[spent])
    log = Seen.spec(par=1, inputs=[spent])
    config = {"topology.stmgrs": 2, "topology.key.groups": 16}
"""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config(environ={}, flags={"home": str(tmp_path / "home")})


@pytest.fixture
def state(config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StateManager]:
    """A topology that runs as far as the state tree can tell; nobody answers for its master."""
    monkeypatch.setattr(topologies, "ANSWER_TIMEOUT", 0.05)
    monkeypatch.setattr(topologies, "MOMENT", 0.05)
    monkeypatch.setattr(topologies, "SUCCESSION", 0.1)
    state = opening.open_state(config)
    path = tmp_path / "shop.py"
    path.write_text(SHOP)
    (prepared,) = prepare(config, Registry.load(), str(path), ())
    execution = Execution("1", "me", 0.0, "0", "round_robin", "local", "localfs")
    state.set(TREE.execution, msgspec.json.encode(execution))
    state.set(TREE.definition, prepared.logical.to_json())
    state.set(TREE.packing_plan, prepared.packing.to_json())
    state.set(TREE.physical_plan, physical_plan(prepared.logical, prepared.packing).to_json())
    state.set(TREE.master, msgspec.json.encode(Registration(KEY, endpoint="tcp://127.0.0.1:9")))
    yield state
    state.close()


def node(state: StateManager) -> Update:
    return Update.from_json(state.get(TREE.update).value)


def tree_of(state: StateManager) -> dict[str, bytes]:
    return {name: state.get(f"{TREE.root}/{name}").value for name in state.children(TREE.root)}


class Master:
    """Takes the next proposal through these phases, and changes the plan as the real one does."""

    def __init__(
        self, state: StateManager, *phases: Phase, reason: str = "", given_up: tuple[str, ...] = ()
    ) -> None:
        self._state = state
        self._phases = phases
        self._reason = reason
        self._given_up = given_up
        self._proposed = threading.Event()
        self._watch = state.watch(TREE.update, self._proposed.set)
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Master:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._proposed.set()
        self._thread.join()
        self._watch.cancel()

    def _run(self) -> None:
        self._proposed.wait(20)
        for phase in self._phases:
            before = node(self._state)
            if phase == "release":
                plan = PhysicalPlan.from_json(self._state.get(TREE.physical_plan).value)
                after = next_plan(plan, before.packing, before.epoch)
                self._state.set(TREE.physical_plan, after.to_json())
                self._state.set(TREE.packing_plan, before.packing.to_json())
            seconds = {"prepare": 0.5, "cut": 0.1, "load": 0.1, "release": 0.2}
            ledger = Ledger(0, 0.0123, 8, 16, 4096, seconds, self._given_up)
            update = msgspec.structs.replace(
                before, number=before.number + 1, phase=phase, reason=self._reason, ledger=ledger
            )
            self._state.set(TREE.update, update.to_json())


ALL: tuple[Phase, ...] = ("prepare", "cut", "load", "release", "done")


def test_the_difference_comes_first_then_the_phases_then_the_ledger(
    heronpy: Heronpy, state: StateManager
) -> None:
    with Master(state, *ALL):
        shown = heronpy("update", "Shop", "spent=4")
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout.splitlines() == [
        "spent       2 → 4 instances   + spent[2] spent[3]   key groups moved 8/16",
        "containers  2 → 3   + container 3 (5 cpu, 5 GB)",
        "others      unchanged, not restarted: orders, seen, window, log",
        "limits      spent 16 (key groups), 8 in one step without --yes",
        "✔ 1/5 packing    keeps 7 instances in place, adds spent[2] spent[3] in container 3",
        "✔ 2/5 launch     all are ready for the change   0.5 s",
        "✔ 3/5 hand-over  8 key groups, 4 KB   0.2 s",
        "✔ 4/5 reroute    plan 2 is in force   0.2 s",
        "✔ 5/5 verify     0 tuples lost",
        "0 tuples lost   pause 12 ms   moved 8/16 key groups, 4 KB",
        "undo: heronpy update Shop spent=2",
    ]
    assert heronpy("update", "Shop", "spent=4").stderr == "Shop: spent has 4 already\n"
    assert (node(state).wanted, node(state).epoch) == ({"spent": 4}, 2)


def test_a_dry_run_shows_the_moves_and_writes_nothing(heronpy: Heronpy, state: StateManager) -> None:
    before = tree_of(state)
    shown = heronpy("update", "Shop", "spent=1", "seen=2", "--dry-run")
    assert shown.exit_code == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0] == "spent       2 → 1 instances   - spent[1]   key groups moved 8/16"
    assert lines[1] == "seen        1 → 2 instances   + seen[1]   key groups moved 8/16"
    assert lines[-2] == "the state of the tasks is not known: the topology master does not answer"
    assert lines[-1] == "nothing was changed"
    told = json.loads(heronpy("update", "Shop", "spent=3", "--dry-run", "-o", "json").stdout)
    assert told["epoch"] == {"before": 1, "after": 2}
    assert told["components"]["spent"]["new"] == ["spent[2]"]
    assert len(told["components"]["spent"]["moves"]) == 5
    assert told["unchanged"] == ["orders", "seen", "window", "log"]
    assert tree_of(state) == before


@pytest.mark.parametrize(
    ("targets", "exit_code", "message"),
    [
        (["spnet=4"], 1, "no component 'spnet' in Shop; did you mean 'spent'? (components: orders, spent"),
        (["spent=0"], 2, "spent=0: a component keeps at least one instance"),
        (["spent=-1"], 2, "spent=-1: a component keeps at least one instance"),
        (
            ["spent=many"],
            2,
            "'many' is not a number of instances (try: spent=4, for four instances",
        ),
        (["spent=+1"], 2, "'+1' is not a number of instances"),
        (["spent"], 2, "'spent' has no number of instances"),
        (["spent=3", "spent=4"], 2, "'spent' is given twice"),
        ([], 2, "nothing to change"),
        (
            ["spent=17", "--yes"],
            1,
            "there are only 16 key groups to share, fixed at submit (try: use at most spent=16",
        ),
        (
            ["spent=9"],
            1,
            "spent=9 is more than 4 times the 2 there are (update.max_factor): spent=8 needs no",
        ),
        (["spent=3", "--set", "update.max_instances=7"], 1, "that makes 8 instances, more than 7"),
        (["orders=3"], 1, "spout 'orders' declares no splits: what its tasks have read stays with each"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line_and_nothing_is_written(
    heronpy: Heronpy, state: StateManager, targets: list[str], exit_code: int, message: str
) -> None:
    before = tree_of(state)
    shown = heronpy("update", "Shop", *targets)
    assert (shown.exit_code, message in shown.stderr) == (exit_code, True), shown.stderr
    assert len(shown.stderr.splitlines()) == 1
    assert tree_of(state) == before


def test_a_spout_without_splits_is_not_scaled_effectively_once(heronpy: Heronpy, state: StateManager) -> None:
    plan = PhysicalPlan.from_json(state.get(TREE.physical_plan).value)
    logical = msgspec.structs.replace(plan.logical, reliability="effectively_once")
    state.set(TREE.physical_plan, msgspec.structs.replace(plan, logical=logical).to_json())
    shown = heronpy("update", "Shop", "orders=3", "--yes")
    assert (shown.exit_code, "spout 'orders' declares no splits" in shown.stderr) == (1, True)
    assert not state.exists(TREE.update)


@pytest.mark.parametrize(
    ("wanted", "held", "doubt"),
    [
        (
            {"seen": 2},
            KeptState(attributes=("seen",)),
            "bolt 'seen' does not use self.state: its plain attributes",
        ),
        ({"seen": 2}, KeptState(keyed=3, used=True), ""),
        ({"seen": 2}, KeptState(), ""),
        (
            {"seen": 2},
            KeptState(own=3, used=True),
            "state of seen[0] (3 entries) is kept by task and does not",
        ),
        ({"window": 2}, KeptState(own=3, used=True), ""),
        ({"log": 2}, KeptState(own=3, used=True), ""),
    ],
)
def test_the_tasks_are_asked_what_they_keep(
    state: StateManager, config: Config, wanted: dict[str, int], held: KeptState, doubt: str
) -> None:
    now = look(state, "Shop")
    proposal = propose(config, Registry.load(), now, wanted)
    instances = tuple(
        InstanceStatus(
            task=task.id, component=task.component, index=task.index, container=1, kind="", held=held
        )
        for task in now.plan.tasks
    )
    found = doubts(
        config, proposal, wanted, TopologyStatus(name="Shop", state="RUNNING", instances=instances)
    )
    assert len(found) == bool(doubt)
    assert "".join(found).startswith(doubt)


def test_what_was_given_up_is_said_at_the_end(heronpy: Heronpy, state: StateManager) -> None:
    with Master(state, *ALL, given_up=("state of spent[1] (3 entries) is gone",)):
        shown = heronpy("update", "Shop", "spent=9", "--yes")
    assert "with --yes: spent=9 is more than 4 times the 2 there are" in shown.stdout
    assert "done all the same: state of spent[1] (3 entries) is gone" in shown.stdout.splitlines()
    assert node(state).accepts_loss


def test_a_bolt_that_keeps_nothing_is_scaled_without_a_question(
    heronpy: Heronpy, state: StateManager
) -> None:
    shown = heronpy("update", "Shop", "log=2", "--no-wait")
    assert (shown.exit_code, node(state).phase) == (0, "proposed"), shown.stderr
    assert "asked for plan 2" in shown.stderr


def test_an_update_that_is_rolled_back_says_why(heronpy: Heronpy, state: StateManager) -> None:
    with Master(state, "prepare", "rollback", "rolled_back", reason="spent[2] exited 137"):
        shown = heronpy("update", "Shop", "spent=3")
    assert shown.exit_code == 1
    last = shown.stderr.splitlines()[-1]
    assert last == "↩ rolled back, nothing has changed: spent has 2; reason: spent[2] exited 137"
    first = node(state)
    # the next one uses neither its epoch nor the ids of its tasks
    with Master(state, *ALL):
        shown = heronpy("update", "Shop", "spent=3", "-o", "json")
    ended = json.loads(shown.stdout)
    assert (ended["phase"], ended["epoch"], ended["wanted"]) == ("done", 3, {"spent": 3})
    assert ended["ledger"]["groups_moved"] == 8
    tasks = [{each.task for each in plan.instances()} for plan in (first.packing, node(state).packing)]
    packing = PackingPlan.from_json(state.get(TREE.packing_plan).value)
    assert len(tasks[0] & tasks[1]) == 7
    assert packing.next_task == first.packing.next_task + 1


def test_two_people_at_once(heronpy: Heronpy, state: StateManager) -> None:
    assert heronpy("update", "Shop", "spent=3", "--no-wait").exit_code == 0
    before = tree_of(state)
    second = heronpy("update", "Shop", "spent=4")
    assert second.exit_code == 1
    who = node(state).requested_by
    assert f"an update to spent=3 by {who} has been running in Shop for 0s (phase proposed)" in second.stderr
    assert tree_of(state) == before


def test_the_same_command_again_follows_the_running_update(heronpy: Heronpy, state: StateManager) -> None:
    assert heronpy("update", "Shop", "spent=3", "--no-wait").exit_code == 0
    running = msgspec.structs.replace(node(state), number=2)
    with Master(state, *ALL):
        # the master comes to it when the second command is there
        timer = threading.Timer(0.5, lambda: state.set(TREE.update, running.to_json()))
        timer.start()
        again = heronpy("update", "Shop", "spent=3")
        timer.join()
    assert again.exit_code == 0, again.stderr
    assert again.stdout.splitlines()[-1].startswith("0 tuples lost   pause 12 ms")
    assert node(state).phase in CLOSED


def test_ctrl_c_leaves_the_update_alone_and_says_so(heronpy: Heronpy, state: StateManager) -> None:
    def interrupt() -> None:
        eventually(lambda: state.exists(TREE.update))
        # nothing in the tree says that somebody waits
        time.sleep(0.5)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    # a job in the background has been told to ignore it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    # Hypothesis calls Python code in every collection, and an interrupt that is raised in there gets lost
    gc.disable()
    try:
        thread.start()
        shown = heronpy("update", "Shop", "spent=3")
    finally:
        gc.enable()
        signal.signal(signal.SIGINT, before)
    thread.join()
    assert shown.exit_code == 130
    assert shown.stderr.count("the update goes on; `heronpy update Shop spent=3` follows it again") == 1
    assert node(state).phase == "proposed"


def test_pausing_says_whom_it_waits_for_and_gives_up_in_time(
    heronpy: Heronpy, state: StateManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "AT_ONCE", 0.05)
    shown = heronpy("deactivate", "Shop", "--timeout", "300ms")
    silent = "the topology master does not answer; its container is being restarted or the machine is busy"
    told = "Shop is set to PAUSED, but not every spout has followed after 0 s"
    assert shown.exit_code == 3
    assert shown.stderr.splitlines() == [
        f"waiting: {silent}",
        f"error: {told}: {silent} (try: heronpy status Shop)",
    ]
    assert live(state).state == "PAUSED"


@pytest.mark.parametrize(
    ("verb", "state_of_others", "hint"),
    [("deactivate", "RUNNING", "spouts emit"), ("activate", "PAUSED", "spouts are paused")],
)
def test_pausing_that_is_overtaken_from_another_terminal_says_so_at_once(
    heronpy: Heronpy, state: StateManager, verb: str, state_of_others: str, hint: str
) -> None:
    begun = time.monotonic()
    change_live(state, "Shop", lambda live: msgspec.structs.replace(live, state=state_of_others))

    def other_terminal() -> None:
        eventually(lambda: live(state).state != state_of_others)
        change_live(state, "Shop", lambda live: msgspec.structs.replace(live, state=state_of_others))

    other = threading.Thread(target=other_terminal)
    other.start()
    shown = heronpy(verb, "Shop", "--timeout", "1m")
    other.join()
    assert (shown.exit_code, shown.stderr.splitlines()[-1]) == (
        1,
        f"error: Shop was set to {state_of_others} by another command meanwhile: its {hint}"
        " (try: heronpy status Shop)",
    )
    assert time.monotonic() - begun < 30


def test_a_topology_without_a_master_is_left_alone(heronpy: Heronpy, state: StateManager) -> None:
    state.delete(TREE.master)
    state.set(TREE.scheduler, b"{}")
    shown = heronpy("update", "Shop", "spent=3")
    assert (shown.exit_code, "has no topology master" in shown.stderr) == (1, True)
    assert not state.exists(TREE.update)


def test_rebalancing_is_up_to_the_packing_plugin(heronpy: Heronpy, state: StateManager) -> None:
    shown = heronpy("update", "Shop", "--rebalance")
    assert (shown.exit_code, shown.stderr) == (0, "Shop: packing 'round_robin' sees nothing to move\n")
    assert not state.exists(TREE.update)


def test_a_plugin_that_moves_groups_is_shown_what_it_moves(
    state: StateManager, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same road as the command's, with a packing plugin of one's own."""

    class Backwards(RoundRobin):
        def repack(self, current: PackingPlan, changes: Mapping[str, int]) -> PackingPlan:
            plan = super().repack(current, changes)
            turned = {name: table[::-1] for name, table in plan.key_groups.items() if name == "spent"}
            return msgspec.structs.replace(plan, key_groups={**plan.key_groups, **turned})

    monkeypatch.setattr(Registry, "resource_manager", lambda *_: Backwards)
    proposal = propose(config, Registry.load(), look(state, "Shop"), {})
    assert proposal.affected == ["spent"]
    assert len(proposal.moves["spent"]) == 16
    assert set(proposal.after.key_groups) == {"spent"}
    assert diff_lines(proposal, 4)[0] == "spent       2 instances   key groups moved 16/16"


@pytest.mark.parametrize(("next_task", "message"), [(1, "the task id 8, which was used before")])
def test_a_plugin_that_uses_a_task_id_again_is_caught(
    state: StateManager, config: Config, monkeypatch: pytest.MonkeyPatch, next_task: int, message: str
) -> None:
    class Forgetful(RoundRobin):
        def repack(self, current: PackingPlan, changes: Mapping[str, int]) -> PackingPlan:
            plan = super().repack(current, changes)
            return msgspec.structs.replace(plan, next_task=next_task)

    monkeypatch.setattr(Registry, "resource_manager", lambda *_: Forgetful)
    with pytest.raises(PackingError, match=message):
        propose(config, Registry.load(), look(state, "Shop"), {"spent": 3})


def used_up(state: StateManager, reliability: Reliability) -> None:
    """The topology has been scaled so often that the next task gets the first id too many."""
    logical = LogicalPlan.from_json(state.get(TREE.definition).value)
    packing = PackingPlan.from_json(state.get(TREE.packing_plan).value)
    logical = msgspec.structs.replace(logical, reliability=reliability)
    packing = msgspec.structs.replace(packing, next_task=65536)
    state.set(TREE.definition, logical.to_json())
    state.set(TREE.packing_plan, packing.to_json())
    state.set(TREE.physical_plan, physical_plan(logical, packing).to_json())


def test_at_least_once_a_spout_gets_no_id_that_its_roots_have_no_room_for(
    heronpy: Heronpy, state: StateManager
) -> None:
    used_up(state, "at_least_once")
    before = tree_of(state)
    refused = heronpy("update", "Shop", "orders=3")
    assert (refused.exit_code, refused.stderr) == (
        1,
        "error: spout 'orders' would get the task id 65536, and at least once a spout's id is at most 65535"
        " (try: kill --keep-checkpoints, then submit --from: ids begin at 1 again)\n",
    )
    assert tree_of(state) == before
    assert heronpy("update", "Shop", "seen=2", "--dry-run", "--yes").exit_code == 0
    used_up(state, "at_most_once")
    assert heronpy("update", "Shop", "orders=3", "--dry-run").exit_code == 0


def test_a_planned_restart_is_the_same_packing_under_another_epoch(
    state: StateManager, config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    with Master(state, *ALL):
        restart_as_planned(config, state, "Shop", [2])
    ended, packing = node(state), PackingPlan.from_json(state.get(TREE.packing_plan).value)
    assert (ended.kind, ended.containers, ended.epoch, ended.wanted) == ("restart", (2,), 2, {})
    assert msgspec.structs.replace(ended.packing, epoch=1) == msgspec.structs.replace(packing, epoch=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "✔ 1/5 packing    no instance moves; container 2 will restart"
    assert lines[-1] == "Shop: restarted container 2"

    with Master(state, "rolled_back", reason="count[0] is stuck"), pytest.raises(UserError, match="is stuck"):
        restart_as_planned(config, state, "Shop", [1])


def test_a_topology_that_is_not_well_is_restarted_at_once(heronpy: Heronpy, state: StateManager) -> None:
    """There is nobody to ask here, nor to do it."""
    shown = heronpy("restart", "Shop", "1")
    assert shown.stderr.splitlines()[0] == "Shop is UNREACHABLE, so it is restarted at once"
    assert "the scheduler's process of 'Shop' is not running" in shown.stderr
    assert not state.exists(TREE.update)


def live(state: StateManager) -> Live:
    return msgspec.json.decode(state.get(TREE.live).value, type=Live)


def test_config_is_changed_for_all_or_for_one_and_survives_a_pause(
    heronpy: Heronpy, state: StateManager
) -> None:
    first = heronpy("update", "Shop", "--runtime-config", "limit=3", "--runtime-config", "spent:name=ann")
    assert (first.exit_code, first.stdout) == (0, "Shop: limit = 3\nspent: name = 'ann'\n")
    heronpy("update", "Shop", "--runtime-config", 'limit={"a": [1, true]}')
    assert live(state) == Live("RUNNING", {"": {"limit": {"a": [1, True]}}, "spent": {"name": "ann"}}, 2)
    change_live(state, "Shop", lambda before: msgspec.structs.replace(before, state="PAUSED"))
    assert (live(state).state, live(state).number, config_for(live(state).config, "spent")) == (
        "PAUSED",
        3,
        {"limit": {"a": [1, True]}, "name": "ann"},
    )
    assert config_for(live(state).config, "seen") == {"limit": {"a": [1, True]}}


@pytest.mark.parametrize(
    ("given", "exit_code", "message"),
    [
        ("limit", 2, "--runtime-config wants KEY=VALUE or COMPONENT:KEY=VALUE, got 'limit'"),
        ("spnet:limit=3", 1, "no component 'spnet' in Shop; did you mean 'spent'?"),
        ("topology.max.spout.pendin=3", 1, "did you mean 'topology.max.spout.pending'?"),
        ("topology.stmgrs=3", 1, "topology.stmgrs cannot change while the topology runs"),
        ("topology.max.spout.pending=0", 1, "must be a number of at least 1, got 0"),
        ("topology.message.timeout.secs=soon", 1, "must be a number of at least 0.001, got 'soon'"),
        ("topology.stateful.checkpoint.interval.seconds=0.01", 1, "must be a number of at least 0.1, or 0"),
        ("spent:topology.stateful.checkpoint.interval.seconds=1", 1, "is the whole topology's"),
    ],
)
def test_config_that_cannot_change_is_refused(
    heronpy: Heronpy, state: StateManager, given: str, exit_code: int, message: str
) -> None:
    shown = heronpy("update", "Shop", "--runtime-config", given)
    assert (shown.exit_code, message in shown.stderr) == (exit_code, True), shown.stderr
    assert not state.exists(TREE.live)
