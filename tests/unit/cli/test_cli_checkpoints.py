"""heronpy checkpoints, kill --keep-checkpoints and submit --from, around a topology without processes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result
from support.tasks.saving import part, saved

from heronpy.container.execution import read_execution
from heronpy.container.scheduler import scheduler_host
from heronpy.container.teardown import kill_topology
from heronpy.kernel.checkpoints.demand import answer_demand, pending_demands
from heronpy.kernel.checkpoints.manifest import SavedTask, read_manifest
from heronpy.kernel.checkpoints.node import Checkpoints
from heronpy.kernel.checkpoints.stored import CheckpointRef
from heronpy.kernel.config import Config, load_config
from heronpy.kernel.plugin import CheckpointStore, StateManager
from heronpy.kernel.plugin.opening import open_checkpoint_store, open_state
from heronpy.kernel.tree.paths import Tree

Heronpy = Callable[..., Result]

NAME = "WordCount"
TREE = Tree(NAME)
HALF = range(128)
OTHER_HALF = range(128, 256)

WORD_COUNT = """
import sys
from heronpy import Bolt, Grouping, Spout, Topology

class Words(Spout):
    outputs = ["word"]
    def next_tuple(self): ...

class Count(Bolt):
    def process(self, tup): ...

class WordCount(Topology):
    words = Words.spec()
    count = Count.spec(par=int([*sys.argv, 2][1]), inputs={words: Grouping.fields("word")})
"""


@pytest.fixture(autouse=True)
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_host, "start", lambda path: None)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config("/dev/null", environ={}, flags={"home": str(tmp_path / "home")})


@pytest.fixture
def state(config: Config) -> Iterator[StateManager]:
    state = open_state(config)
    yield state
    for name in state.children("/"):
        kill_topology(config, state, name, 0.0, keep_checkpoints=True)
    state.close()


@pytest.fixture
def store(config: Config) -> Iterator[CheckpointStore]:
    store = open_checkpoint_store(config)
    yield store
    store.close()


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "wordcount.py"
    path.write_text(WORD_COUNT)
    return str(path)


@pytest.fixture
def execution(heronpy: Heronpy, file: str, state: StateManager) -> str:
    """A topology that was submitted; whoever runs it, it is not us."""
    submitted = heronpy("submit", file, "--no-wait")
    assert submitted.exit_code == 0, submitted.stderr
    found = read_execution(state, NAME)
    assert found is not None
    return found.id


def take(state: StateManager, store: CheckpointStore, execution: str, number: int) -> CheckpointRef:
    """What a Topology Master does: store, then tell. The second counter has not changed since."""
    prefix = f"{NAME}/{execution}"
    old = f"{prefix}/1/3-1"
    tasks = (
        SavedTask(1, "words", 0),
        SavedTask(2, "count", 0, (part(store, f"{prefix}/{number}/2-1", b"abc", *HALF),)),
        SavedTask(3, "count", 1, (part(store, old, b"def" * 1000, *OTHER_HALF),)),
    )
    ref = saved(store, number, *tasks, name=NAME, execution=execution, at=time.time() - 100 + number)
    node = Checkpoints.from_json(state.get(TREE.checkpoints).value)
    told = Checkpoints(number=node.number + 1, started=number, complete=(*node.complete, ref))
    state.set(TREE.checkpoints, told.to_json())
    return ref


def test_submit_makes_an_empty_node(execution: str, state: StateManager) -> None:
    assert Checkpoints.from_json(state.get(TREE.checkpoints).value) == Checkpoints(number=1)


def test_without_checkpoints_it_says_how_to_get_one(heronpy: Heronpy, execution: str) -> None:
    shown = heronpy("checkpoints", NAME)
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert shown.stderr == (
        "no checkpoints of WordCount (try: heronpy checkpoints WordCount --take, or"
        " topology.stateful.checkpoint.interval.seconds in its config)\n"
    )
    assert heronpy("checkpoints", NAME, "-o", "json").stdout == "[]\n"


def test_a_name_that_nobody_has_gets_a_suggestion(heronpy: Heronpy, execution: str) -> None:
    refused = heronpy("checkpoints", "WordCont")
    assert refused.exit_code == 1
    assert refused.stderr == (
        "error: no topology named 'WordCont'; did you mean 'WordCount'? (try: heronpy list)\n"
    )


def test_the_newest_comes_first(
    heronpy: Heronpy, execution: str, state: StateManager, store: CheckpointStore
) -> None:
    take(state, store, execution, 1)
    take(state, store, execution, 2)
    header, *rows = (line.split() for line in heronpy("checkpoints", NAME).stdout.splitlines())
    assert " ".join(header) == "id age took size tasks epoch parallelism topology execution"
    assert [row[0] for row in rows] == ["2", "1"]
    assert " ".join(rows[0][3:]) == f"0.2s 2.9 KB 3 1 words 1, count 2 running {execution}"
    newest, oldest = json.loads(heronpy("checkpoints", NAME, "-o", "json").stdout)
    assert (newest["checkpoint"], newest["bytes"], newest["tasks"]) == ("WordCount@2", 3003, 3)
    assert newest["parallelism"] == {"words": 1, "count": 2}
    only = json.loads(heronpy("checkpoints", f"{NAME}@1", "-o", "json").stdout)
    assert only == [oldest]


def test_it_says_what_is_on_its_way_and_what_was_given_up(
    heronpy: Heronpy, execution: str, state: StateManager
) -> None:
    state.set(TREE.checkpoints, Checkpoints(number=2, started=4).to_json())
    assert heronpy("checkpoints", NAME).stderr.splitlines()[-1] == "checkpoint 4 is being taken"
    given_up = Checkpoints(number=3, started=4, aborted=4, aborted_because="count[1] died")
    state.set(TREE.checkpoints, given_up.to_json())
    assert heronpy("checkpoints", NAME).stderr.splitlines()[-1] == "checkpoint 4 was given up: count[1] died"


def test_one_is_taken_on_demand(
    heronpy: Heronpy, execution: str, state: StateManager, store: CheckpointStore
) -> None:
    take(state, store, execution, 1)
    asked = threading.Event()
    watch = state.watch(TREE.demands, asked.set)

    def master() -> None:
        assert asked.wait(30)
        take(state, store, execution, 2)
        answer_demand(state, pending_demands(state, NAME)[0])

    thread = threading.Thread(target=master)
    thread.start()
    taken = heronpy("checkpoints", NAME, "--take", "-o", "json")
    thread.join()
    watch.cancel()
    assert [one["id"] for one in json.loads(taken.stdout)] == [2]
    assert "waiting for the topology master" in taken.stderr


def test_one_that_is_not_taken_in_time_is_exit_code_3(heronpy: Heronpy, execution: str) -> None:
    late = heronpy("checkpoints", NAME, "--take", "--timeout", "50ms")
    assert late.exit_code == 3
    assert late.stderr.splitlines()[-1].startswith("error: no checkpoint of 'WordCount' in 50ms: waiting for")


def test_verify_reads_everything(
    heronpy: Heronpy, execution: str, state: StateManager, store: CheckpointStore
) -> None:
    take(state, store, execution, 1)
    take(state, store, execution, 2)
    good = heronpy("checkpoints", NAME, "--verify")
    assert (good.exit_code, good.stdout) == (0, "WordCount@2: whole, 2.9 KB\nWordCount@1: whole, 2.9 KB\n")
    damaged = f"{NAME}/{execution}/2/2-1"
    store.write(damaged, [b"xyz"])
    bad = heronpy("checkpoints", NAME, "--verify")
    assert bad.exit_code == 1
    assert bad.stdout.splitlines()[0].startswith(f"WordCount@2: object {damaged} in the checkpoint store is")
    assert bad.stdout.splitlines()[1] == "WordCount@1: whole, 2.9 KB"
    assert bad.stderr == "error: damaged: WordCount@2 (try: use another checkpoint for submit --from)\n"


def test_kill_takes_its_checkpoints_along_and_nobody_elses(
    heronpy: Heronpy, execution: str, state: StateManager, store: CheckpointStore
) -> None:
    take(state, store, execution, 1)
    take(state, store, execution, 2)
    part(store, f"{NAME}/{execution}/update-2/3", b"handed over")
    saved(store, 5, name=NAME, execution="earlier")
    saved(store, 6, name="other")
    others = [name for name in store.names("") if execution not in name]
    assert heronpy("kill", NAME).stdout == "WordCount is gone, and its 2 checkpoints (2.9 KB) with it\n"
    assert store.names("") == others


def test_a_kill_whose_store_is_out_of_reach_leaves_the_topology_to_be_found(
    heronpy: Heronpy, file: str, state: StateManager
) -> None:
    heronpy(
        "submit", file, "--no-wait", "--set", "checkpoint.store=fsspec", "--set", "checkpoint.path=no://x"
    )
    state.set(TREE.checkpoints, Checkpoints(number=2, started=1).to_json())
    killed = heronpy("kill", NAME)
    assert killed.exit_code == 1
    assert killed.stderr.startswith("error: the checkpoints of 'WordCount' cannot be removed: cannot use")
    assert killed.stderr.endswith("(try: heronpy kill WordCount --keep-checkpoints)\n")
    assert state.children("/") == [NAME]
    assert heronpy("kill", NAME, "--keep-checkpoints").exit_code == 0
    assert state.children("/") == []


@pytest.fixture
def keeping(file: str) -> str:
    """A topology with a component that puts objects of its own into the store."""
    Path(file).write_text(
        WORD_COUNT.replace("class Count(Bolt):", "class Count(Bolt):\n    keeps_objects = True")
    )
    return file


#: of another topology, or of none
OTHERS = ["WordCount2/components/out/a", "other/components/out/a"]
OWN = ["WordCount/components/count/a/b", "WordCount/components/count/c"]


@pytest.fixture
def objects(store: CheckpointStore) -> list[str]:
    for name in (*OWN, *OTHERS):
        store.write(name, [b"data"])
    return OWN


def test_what_components_keep_goes_with_the_topology_also_if_it_never_saved(
    heronpy: Heronpy, keeping: str, store: CheckpointStore, state: StateManager, objects: list[str]
) -> None:
    heronpy("submit", keeping, "--no-wait")
    assert heronpy("kill", NAME).stdout == "WordCount is gone\n"
    assert store.names("") == OTHERS


def test_what_components_keep_stays_with_checkpoints_and_goes_with_the_last(
    heronpy: Heronpy, keeping: str, store: CheckpointStore, state: StateManager, objects: list[str]
) -> None:
    heronpy("submit", keeping, "--no-wait")
    found = read_execution(state, NAME)
    assert found is not None
    take(state, store, found.id, 1)
    take(state, store, found.id, 2)
    heronpy("kill", NAME, "--keep-checkpoints")
    assert store.names("WordCount/components/") == objects
    heronpy("checkpoints", f"{NAME}@1", "--delete")
    assert store.names("WordCount/components/") == objects
    heronpy("checkpoints", NAME, "--delete")
    assert store.names("") == OTHERS


def test_a_submit_that_fails_leaves_what_was_there_before_it(
    heronpy: Heronpy,
    keeping: str,
    store: CheckpointStore,
    state: StateManager,
    objects: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(path: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(scheduler_host, "start", fail)
    assert heronpy("submit", keeping).exit_code == 1
    assert store.names("WordCount/components/") == objects
    for name in objects:
        store.delete(name)

    def fail_late(path: str) -> None:
        store.write(objects[0], [b"of the topology that fails"])
        fail(path)

    monkeypatch.setattr(scheduler_host, "start", fail_late)
    assert heronpy("submit", keeping).exit_code == 1
    assert store.names("") == OTHERS


def test_a_topology_that_never_saved_is_killed_without_its_store(
    heronpy: Heronpy, file: str, state: StateManager
) -> None:
    heronpy(
        "submit", file, "--no-wait", "--set", "checkpoint.store=fsspec", "--set", "checkpoint.path=no://x"
    )
    assert heronpy("kill", NAME).stdout == "WordCount is gone\n"


@pytest.mark.parametrize(
    ("assignment", "complaint"),
    [
        ("checkpoint.store=s3", "no checkpoint store plugin named 's3' (known: fsspec, localfs)"),
        ("checkpoint.path=s3://x", "checkpoint.path is 's3://x', and the checkpoint store 'localfs' wants a"),
        ("topology.stateful.checkpoint.interval.seconds=often", "topology 'WordCount': topology.stateful."),
    ],
)
def test_a_topology_that_could_not_be_saved_is_refused(
    heronpy: Heronpy, file: str, assignment: str, complaint: str
) -> None:
    once = ("--set", "topology.reliability.mode=EFFECTIVELY_ONCE")
    refused = heronpy("submit", file, "--dry-run", *once, "--set", assignment)
    assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1)
    assert refused.stderr.startswith(f"error: {complaint}")


def test_nothing_is_killed_when_there_is_nothing_to_keep(
    heronpy: Heronpy, execution: str, state: StateManager
) -> None:
    refused = heronpy("kill", NAME, "--keep-checkpoints")
    assert (refused.exit_code, refused.stderr) == (
        1,
        "error: WordCount has no checkpoint to keep"
        " (try: heronpy checkpoints WordCount --take, or kill without --keep-checkpoints)\n",
    )
    assert state.exists(f"/{NAME}/execution")


def test_kept_checkpoints_are_found_and_deleted_by_name(
    heronpy: Heronpy, execution: str, state: StateManager, store: CheckpointStore
) -> None:
    first, second = take(state, store, execution, 1), take(state, store, execution, 2)
    # one that was stored and never became complete, and a reference that was never written
    saved(store, 3, name=NAME, execution=execution)
    store.delete(f"{NAME}/{execution}/1/ref")
    killed = heronpy("kill", NAME, "--keep-checkpoints")
    assert killed.stdout == (
        "WordCount is gone; 2 checkpoints (2.9 KB) kept (next: heronpy submit FILE --from WordCount)\n"
    )
    listed = json.loads(heronpy("checkpoints", NAME, "-o", "json").stdout)
    assert [(one["id"], one["topology"]) for one in listed] == [(2, "killed"), (1, "killed")]
    assert heronpy("checkpoints", f"{NAME}@1", "--delete").stdout == "deleted 1 checkpoint (2.9 KB)\n"
    assert heronpy("checkpoints", NAME, "--verify").stdout == "WordCount@2: whole, 2.9 KB\n"
    assert set(read_manifest(store, second).parts()) <= set(store.names(""))
    assert first.manifest not in store.names("")
    heronpy("checkpoints", NAME, "--delete")
    assert store.names("") == []


def test_what_cannot_be_told_apart_is_kept(
    config: Config, execution: str, state: StateManager, store: CheckpointStore
) -> None:
    take(state, store, execution, 1)
    there = store.names("")
    state.set(TREE.checkpoints, b'{"number": "of another version"}')
    kill_topology(config, state, NAME, 0.0, keep_checkpoints=True)
    assert store.names("") == there


def test_a_running_topology_collects_for_itself(
    heronpy: Heronpy, execution: str, state: StateManager, store: CheckpointStore
) -> None:
    take(state, store, execution, 1)
    refused = heronpy("checkpoints", NAME, "--delete")
    assert (refused.exit_code, refused.stderr) == (
        1,
        "error: 'WordCount' runs, and collects its checkpoints itself"
        " (try: set checkpoint.retain to the number that it shall keep)\n",
    )


def test_a_topology_begins_with_what_another_left(
    heronpy: Heronpy, file: str, execution: str, state: StateManager, store: CheckpointStore
) -> None:
    take(state, store, execution, 1)
    take(state, store, execution, 2)
    heronpy("kill", NAME, "--keep-checkpoints")
    begun = heronpy("submit", file, "4", "--from", NAME, "--no-wait")
    assert begun.exit_code == 0, begun.stderr
    assert "from  checkpoint WordCount@2 (2.9 KB; count 2 → 4)" in begun.stdout.splitlines()
    node = Checkpoints.from_json(state.get(TREE.checkpoints).value)
    (ref,) = node.complete
    assert (node.number, node.base, node.started, ref.id) == (1, ref, 2, 2)
    found = read_execution(state, NAME)
    assert found is not None
    manifest = read_manifest(store, ref)
    assert (manifest.topology, manifest.execution) == (NAME, found.id)
    assert all(name.startswith(f"{NAME}/{found.id}/2/") for name in manifest.parts())
    # what it began with is its own: killed, it leaves what the other has kept
    heronpy("kill", NAME)
    assert [one["id"] for one in json.loads(heronpy("checkpoints", NAME, "-o", "json").stdout)] == [2, 1]


def test_it_may_begin_with_what_a_running_one_has(
    heronpy: Heronpy, file: str, execution: str, state: StateManager, store: CheckpointStore
) -> None:
    take(state, store, execution, 1)
    begun = heronpy("submit", file, "--name", "second", "--from", f"{NAME}@1", "--no-wait", "-o", "json")
    assert begun.exit_code == 0, begun.stderr
    heronpy("kill", NAME)
    assert heronpy("checkpoints", "second", "--verify").stdout == "second@1: whole, 2.9 KB\n"


def test_a_dry_run_shows_what_it_would_begin_with(
    heronpy: Heronpy, file: str, execution: str, state: StateManager, store: CheckpointStore
) -> None:
    take(state, store, execution, 1)
    before = store.names("")
    shown = heronpy("submit", file, "--dry-run", "--from", NAME)
    assert shown.stdout.splitlines()[-2:] == [
        "begins with checkpoint WordCount@1 (2.9 KB)",
        "nothing was started",
    ]
    as_json = heronpy("submit", file, "--dry-run", "--from", NAME, "-o", "json")
    assert json.loads(as_json.stdout)["from"] == "WordCount@1"
    assert store.names("") == before


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (
            ("--from", "nobody"),
            1,
            "there is no checkpoint of 'nobody' (try: heronpy checkpoints nobody --take",
        ),
        (("--from", f"{NAME}@9"), 1, "there is no checkpoint '9' of 'WordCount' (known: 1)"),
        (("--from", "../x"), 1, "topology '../x' is not a valid name"),
        (
            ("--from", NAME, "--set", "topology.key.groups=64"),
            1,
            "checkpoint WordCount@1 has 256 key groups, and topology 'second' has 64",
        ),
        (("--allow-dropped-state",), 2, "--allow-dropped-state goes with --from CHECKPOINT"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_starts(
    heronpy: Heronpy,
    file: str,
    execution: str,
    state: StateManager,
    store: CheckpointStore,
    arguments: tuple[str, ...],
    code: int,
    complaint: str,
) -> None:
    take(state, store, execution, 1)
    refused = heronpy("submit", file, "--name", "second", "--no-wait", *arguments)
    assert (refused.exit_code, refused.stderr.count("\n")) == (code, 1)
    assert refused.stderr.startswith(f"error: {complaint}")
    assert state.children("/") == [NAME]


def test_a_checkpoint_that_is_not_whole_is_refused(
    heronpy: Heronpy, file: str, execution: str, state: StateManager, store: CheckpointStore
) -> None:
    take(state, store, execution, 1)
    store.delete(f"{NAME}/{execution}/1/2-1")
    refused = heronpy("submit", file, "--name", "second", "--from", NAME)
    assert refused.stderr.startswith("error: checkpoint WordCount@1 is not whole: object WordCount/")
    store.write(f"{NAME}/{execution}/1/2-1", [b"xyz"])
    refused = heronpy("submit", file, "--name", "second", "--from", NAME)
    assert "is damaged: its checksum differs" in refused.stderr
    assert state.children("/") == [NAME]
    assert store.names("second/") == []


def test_state_that_no_component_takes_over_is_left_behind_when_that_is_wanted(
    heronpy: Heronpy, file: str, execution: str, state: StateManager, store: CheckpointStore
) -> None:
    tasks = [
        SavedTask(1, "count", 0, (part(store, "old/e/1/1-1", b"abc", 1),)),
        SavedTask(2, "joined", 0, (part(store, "old/e/1/2-1", b"def", 2),)),
    ]
    saved(store, 1, *tasks, name="old", execution="e")
    refused = heronpy("submit", file, "--name", "second", "--from", "old")
    assert refused.stderr.startswith("error: checkpoint old@1 has state of 'joined', which topology 'second'")
    begun = heronpy("submit", file, "--name", "second", "--from", "old", "--allow-dropped-state", "--no-wait")
    assert "from  checkpoint old@1 (6 B; count 1 → 2; state of joined is left behind)" in begun.stdout
    assert len([name for name in store.names("second/") if "copy-" in name]) == 1


def test_two_acts_at_once_are_refused(heronpy: Heronpy) -> None:
    refused = heronpy("checkpoints", NAME, "--take", "--verify")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: --take, --verify, --delete and --restore go one at a time")
