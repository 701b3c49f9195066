"""submit up to the point where processes would start, and the verbs that only read the tree."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from heronpy.cli.reading.topologies import log_folder, open_state
from heronpy.cli.submitting.submission import Prepared, prepare, submit, wait_until_running
from heronpy.container.folders import launch_file, work_folder
from heronpy.container.scheduler import scheduler_host
from heronpy.container.teardown import kill_topology
from heronpy.kernel.config import Config, load_config
from heronpy.kernel.errors import UserError
from heronpy.kernel.plugin import Registry

Heronpy = Callable[..., Result]

WORD_COUNT = """
import sys
from heronpy import Bolt, Grouping, Spout, Topology

class Words(Spout):
    outputs = ["word"]
    def next_tuple(self): ...

class Count(Bolt):
    outputs = ["word", "count"]
    def process(self, tup): ...

class WordCount(Topology):
    words = Words.spec(par=2)
    count = Count.spec(par=int([*sys.argv, 2][1]), inputs={words: Grouping.fields("word")})
    config = {"topology.stmgrs": 2}
"""


@pytest.fixture
def word_count(tmp_path: Path) -> str:
    path = tmp_path / "wordcount.py"
    path.write_text(WORD_COUNT)
    return str(path)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config(environ={}, flags={"home": str(tmp_path / "home")})


@pytest.fixture
def registry() -> Registry:
    return Registry.load()


@pytest.fixture
def prepared(config: Config, registry: Registry, word_count: str) -> Prepared:
    return prepare(config, registry, word_count, ())[0]


def test_a_dry_run_shows_every_container_and_starts_nothing(
    heronpy: Heronpy, word_count: str, config: Config
) -> None:
    shown = heronpy("submit", word_count, "--dry-run")
    assert shown.exit_code == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0] == "WordCount: 4 instances in 2 containers (round_robin)"
    assert lines[1].split() == ["container", "instance", "kind", "cpu", "ram", "disk"]
    assert sorted(line.split()[0] for line in lines if "spout" in line) == ["words[0]", "words[1]"]
    assert lines[-1] == "nothing was started"
    assert not work_folder(config, "WordCount").exists()
    assert heronpy("list", "-o", "json").stdout == "[]\n"


def test_a_dry_run_as_json_is_for_programs(heronpy: Heronpy, word_count: str) -> None:
    shown = json.loads(heronpy("submit", word_count, "--dry-run", "-o", "json").stdout)
    assert shown["topology"] == "WordCount"
    assert [len(container["instances"]) for container in shown["containers"]] == [2, 2]


def test_json_is_one_document_also_for_several_topologies(heronpy: Heronpy, tmp_path: Path) -> None:
    several = tmp_path / "several.py"
    several.write_text(WORD_COUNT + "class Another(WordCount):\n    pass\n")
    shown = heronpy("submit", str(several), "--dry-run", "-o", "json")
    assert [plan["topology"] for plan in json.loads(shown.stdout)] == ["WordCount", "Another"]


def test_our_options_may_come_after_the_files_arguments(heronpy: Heronpy, word_count: str) -> None:
    options = ("--dry-run", "-o", "json", "--packing", "resource_compliant", "--name", "other")
    shown = json.loads(heronpy("submit", word_count, "3", *options).stdout)
    assert (shown["topology"], shown["packing"]) == ("other", "resource_compliant")
    assert sum(len(container["instances"]) for container in shown["containers"]) == 5


def test_topology_settings_are_in_force_before_packing(heronpy: Heronpy, word_count: str) -> None:
    shown = heronpy("submit", word_count, "--dry-run", "-o", "json", "--set", "topology.stmgrs=4")
    assert len(json.loads(shown.stdout)["containers"]) == 4


def test_settings_of_a_component_are_in_its_config_alone(registry: Registry, tmp_path: Path) -> None:
    file = tmp_path / "days.py"
    file.write_text(
        "from heronpy import Spout, Topology\n"
        "class Days(Spout):\n"
        "    outputs = ['day']\n"
        "    @classmethod\n"
        "    def splits(cls, config): return config['days']\n"
        "    def next_tuple(self): ...\n"
        "class Week(Topology):\n"
        "    days = Days.spec(config={'days': {'mon', 'tue'}})\n"
        "    others = Days.spec(config={'days': ['sat', 'sun']})\n"
    )
    flags = {"component.days.days": '["wed"]', "topology.name": "Short"}
    (found,) = prepare(load_config(environ={}, flags=flags), registry, str(file), ())
    assert found.logical.name == "Short"
    assert [component.splits for component in found.logical.components] == [("wed",), ("sat", "sun")]


def test_a_file_with_settings_of_components_is_good_for_topologies_without_them(
    heronpy: Heronpy, word_count: str, tmp_path: Path
) -> None:
    (tmp_path / "heron.toml").write_text("[component.elsewhere]\nlimit = 3\n")
    assert heronpy("submit", word_count, "--dry-run").exit_code == 0


def test_a_script_that_ends_before_it_defines_a_topology_says_so(heronpy: Heronpy, tmp_path: Path) -> None:
    (tmp_path / "quiet.py").write_text("import sys\nsys.exit()\n")
    for more in ((), ("--name", "x"), ("--dry-run",)):
        done = heronpy("submit", "quiet.py", *more)
        assert done.exit_code == 0
        assert done.stderr == "the file ended by itself before it defined a topology: nothing is started\n"


def test_too_many_instances_are_refused_by_their_number(heronpy: Heronpy, word_count: str) -> None:
    refused = heronpy("submit", word_count, "120000", "--dry-run", "--set", "topology.key.groups=120000")
    assert refused.exit_code == 1
    assert refused.stderr == (
        "error: topology 'WordCount' has too many instances to be described in the state tree:"
        " words 2, count 120,000 (try: give its components a smaller par=… in the file)\n"
    )


def test_at_least_once_more_spouts_than_roots_can_name_are_refused(heronpy: Heronpy, tmp_path: Path) -> None:
    (tmp_path / "spouts.py").write_text(WORD_COUNT.replace("Words.spec(par=2)", "Words.spec(par=65536)"))
    tracked = ("--set", "topology.reliability.mode=ATLEAST_ONCE")
    refused = heronpy("submit", "spouts.py", "--dry-run", *tracked)
    assert refused.exit_code == 1
    assert refused.stderr.endswith(
        ", and at least once a spout's id is at most 65535"
        " (try: give its components a smaller par=… in the file)\n"
    )


def test_a_component_that_is_constructed_is_told_apart_from_its_spec(
    heronpy: Heronpy, tmp_path: Path
) -> None:
    (tmp_path / "made.py").write_text(WORD_COUNT.replace("Words.spec(par=2)", "Words()"))
    refused = heronpy("submit", "made.py")
    assert refused.exit_code == 1
    assert (
        "Words() makes no component of a topology: the engine constructs it in each task (try: Words.spec())"
        in refused.stderr
    )


def test_a_topology_that_could_never_be_saved_is_refused(heronpy: Heronpy, word_count: str) -> None:
    saved = ("topology.reliability.mode=EFFECTIVELY_ONCE", "checkpoint.path=/proc/nowhere")
    refused = heronpy("submit", word_count, *(word for each in saved for word in ("--set", each)))
    assert refused.exit_code == 1
    assert "cannot use the checkpoint folder /proc/nowhere" in refused.stderr
    assert heronpy("list", "-o", "json").stdout == "[]\n"


def test_a_key_in_a_topology_file_that_looks_misspelt_is_a_warning(heronpy: Heronpy, tmp_path: Path) -> None:
    file = tmp_path / "wordcount.py"
    own = '"topology.stmgr": 2, "word.limit": 5, "topology.team.name": "us", "topology.timer.events": "x"'
    file.write_text(WORD_COUNT.replace('"topology.stmgrs": 2', own))
    shown = heronpy("submit", str(file), "--dry-run")
    assert (shown.exit_code, shown.stderr) == (
        0,
        "warning: 'topology.stmgr' in the config of topology 'WordCount' means nothing;"
        " did you mean 'topology.stmgrs'?\n",
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--packing", "bin_pack"), "no packing plugin named 'bin_pack'; did you mean 'binpack'?"),
        (("--scheduler", "locla"), "no scheduler plugin named 'locla'; did you mean 'local'?"),
        (("--state", "localf", "--dry-run"), "no state plugin named 'localf'; did you mean 'localfs'?"),
        (("--set", "upload.uploader=x", "--dry-run"), "no uploader plugin named 'x'"),
        (("--set", "metrics.sinks=jsonl,promtheus"), "no metric sink plugin named 'promtheus'; did you mean"),
        (("--name", "../up"), "topology '../up' is not a valid name"),
        (("--name", ""), "topology '' is not a valid name"),
        (("--set", "topology.stmgrs=two"), "topology.stmgrs cannot be 'two': it must be a number"),
        (("--set", "topology.reliability.mode=most"), "topology.reliability.mode is 'most'"),
        (
            ("--set", "credit.when_full=drop", "--set", "topology.reliability.mode=ATLEAST_ONCE"),
            "topology 'WordCount' is to run at_least_once and to drop tuples when a reader is slow",
        ),
        (
            ("--set", "topology.droptuples.upon.backpressure=maybe"),
            "topology.droptuples.upon.backpressure must be true or false, got 'maybe'",
        ),
        (
            ("--set", "topology.max.spout.pending=0"),
            "topology.max.spout.pending must be a number of at least 1, got 0",
        ),
        (
            ("--set", "topology.message.timeout.secs=-1"),
            "topology.message.timeout.secs must be a number of at least 0.001, got -1",
        ),
        (
            ("--set", "topology.tick.tuple.freq.secs=often"),
            "topology.tick.tuple.freq.secs must be a number of at least 0.001, got 'often'",
        ),
        (
            ("--set", "topology.enable.message.timeouts=maybe"),
            "topology.enable.message.timeouts must be true or false, got 'maybe'",
        ),
        (
            ("--set", "transport.port=65534"),
            "transport.port is 65534 (from flag --set), and container 2 would listen on 65536, where ports"
            " end at 65535 (try: --set transport.port=65533, or a lower port)",
        ),
        (
            ("--set", "component.cuont.limit=3"),
            "component.cuont.limit (from flag --set): there is no component 'cuont'; did you mean 'count'?",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    heronpy: Heronpy, word_count: str, arguments: tuple[str, ...], complaint: str
) -> None:
    refused = heronpy("submit", word_count, "--dry-run", *arguments)
    assert refused.exit_code == 1
    assert refused.stderr.startswith(f"error: {complaint}")
    assert refused.stderr.count("\n") == 1


def test_a_file_that_is_not_there_is_named(heronpy: Heronpy) -> None:
    refused = heronpy("submit", "nowhere.py")
    assert (refused.exit_code, refused.stderr[:24]) == (1, "error: no file 'nowhere.")


def test_a_metric_sink_that_cannot_start_is_refused_and_nothing_is_started(
    heronpy: Heronpy, word_count: str, config: Config
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = int(server.getsockname()[1])
        settings = ("--set", "metrics.sinks=prometheus", "--set", f"plugins.prometheus.port={taken - 2}")
        refused = heronpy("submit", word_count, *settings)
    assert (refused.exit_code, refused.stderr) == (
        1,
        f"error: cannot serve metrics on 127.0.0.1 port {taken}: Address already in use"
        " (try: set another plugins.prometheus.port, or 0 for any free one)\n",
    )
    assert not work_folder(config, "WordCount").exists()
    assert heronpy("list", "-o", "json").stdout == "[]\n"


def test_a_submit_that_fails_half_way_leaves_nothing(
    config: Config, registry: Registry, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: Path) -> None:
        assert path == launch_file(config, "WordCount")
        msg = "no room"
        raise OSError(28, msg)

    monkeypatch.setattr(scheduler_host, "start", broken)
    with open_state(config, registry) as state:
        with pytest.raises(
            UserError, match=r"cannot write the files of topology 'WordCount': \[Errno 28\] no room"
        ):
            submit(config, state, prepared)
        assert state.children("/") == []
    assert not work_folder(config, "WordCount").exists()


def test_a_kill_while_it_starts_is_told_as_one(
    config: Config, registry: Registry, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_state(config, registry) as state:

        def killed(path: Path) -> None:
            kill_topology(config, state, "WordCount", 0.0)
            path.read_bytes()

        monkeypatch.setattr(scheduler_host, "start", killed)
        with pytest.raises(UserError, match="topology 'WordCount' was killed while it started"):
            submit(config, state, prepared)
        assert state.children("/") == []
        monkeypatch.setattr(scheduler_host, "start", lambda path: None)
        submit(config, state, prepared)
        kill_topology(config, state, "WordCount", 0.0)
        with pytest.raises(UserError, match="topology 'WordCount' was killed while it started"):
            wait_until_running(state, "WordCount", timeout=60.0, last_words=str, progress=lambda text: None)
    assert not work_folder(config, "WordCount").exists()


def test_a_name_can_be_taken_only_once_and_read_until_it_is_killed(
    heronpy: Heronpy, config: Config, registry: Registry, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler_host, "start", lambda path: None)
    with open_state(config, registry) as state:
        submit(config, state, prepared)
        with pytest.raises(UserError) as error:
            submit(config, state, prepared)
    assert str(error.value) == (
        "topology 'WordCount' exists already (try: heronpy kill WordCount, or submit with --name OTHER)"
    )

    assert heronpy("plan", "WordCount").stdout.startswith("WordCount: 4 instances in 2 containers")
    log_folder(config, "WordCount").mkdir(exist_ok=True)
    (log_folder(config, "WordCount") / "count[0].log").write_text("one\ntwo\nthree\n")
    (log_folder(config, "WordCount") / "count[1].log").write_text("four\n")
    assert heronpy("logs", "WordCount", "count[0]", "-n", "2").stdout == "two\nthree\n"
    assert heronpy("logs", "WordCount", "count", "-n", "1").stdout == "count[0] | three\ncount[1] | four\n"
    assert heronpy("restart", "WordCount", "7").stderr == (
        "error: topology 'WordCount' has no container 7 (known: 0, 1, 2)\n"
    )

    assert heronpy("kill", "WordCount", "--keep-logs").stdout == "WordCount is gone\n"
    assert heronpy("logs", "WordCount", "count[1]").stdout == "four\n"
    assert heronpy("kill", "WordCount").exit_code == 0
    assert not work_folder(config, "WordCount").exists()


def test_a_name_that_does_not_exist_gets_a_suggestion(
    heronpy: Heronpy, config: Config, registry: Registry, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = f"no topology named 'nobody'; there is none in {config.home / 'state'}"
    assert heronpy("status", "nobody").stderr == f"error: {nowhere} (try: heronpy list)\n"
    monkeypatch.setattr(scheduler_host, "start", lambda path: None)
    with open_state(config, registry) as state:
        submit(config, state, prepared)
    for verb in ("kill", "status", "plan", "top", "logs", "activate", "deactivate", "restart"):
        refused = heronpy(verb, "WordCont")
        assert refused.exit_code == 1
        assert refused.stderr == (
            "error: no topology named 'WordCont'; did you mean 'WordCount'? (try: heronpy list)\n"
        )
    assert heronpy("kill", "--all").stdout == "WordCount is gone\n"


def test_kill_wants_to_know_whom(heronpy: Heronpy) -> None:
    for arguments in ((), ("x", "--all")):
        refused = heronpy("kill", *arguments)
        assert refused.exit_code == 2
        assert refused.stderr.startswith("error: kill wants the names of topologies, or --all")


def test_a_list_of_nothing_says_how_to_begin(heronpy: Heronpy) -> None:
    shown = heronpy("list")
    assert (shown.exit_code, shown.stdout, shown.stderr) == (0, "", "no topologies (try: heronpy demo)\n")


def test_submit_says_what_will_surprise(heronpy: Heronpy, tmp_path: Path) -> None:
    file = tmp_path / "surprising.py"
    file.write_text(
        "from heronpy import Bolt, Grouping, Spout, Topology\n"
        "class Source(Spout):\n"
        "    outputs = ['id']\n"
        "    def next_tuple(self): pass\n"
        "class Sink(Bolt):\n"
        "    def process(self, tup): pass\n"
        "class Surprising(Topology):\n"
        "    source = Source.spec()\n"
        "    sink = Sink.spec(inputs={source: Grouping.SHUFFLE})\n"
    )
    told = heronpy("submit", str(file), "--dry-run").stderr.splitlines()
    assert told[0].startswith("warning: spout 'source': field 'id' of stream 'default'")


def test_submit_names_the_settings_files_that_it_obeys(
    heronpy: Heronpy, word_count: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler_host, "start", lambda path: None)
    file = tmp_path / "heron.toml"
    file.write_text("log.level = 'ERROR'\n")
    done = heronpy("submit", word_count, "--no-wait", "-o", "json")
    assert done.stderr == f"settings: {file}\n"
    assert json.loads(done.stdout)["settings"] == [str(file)]
    assert heronpy("kill", "WordCount").exit_code == 0

    named = tmp_path / "named.toml"
    named.write_text("log.level = 'INFO'\n")
    assert heronpy("submit", word_count, "--no-wait", "--config", str(named)).stderr == f"settings: {named}\n"
    assert heronpy("kill", "WordCount").exit_code == 0

    file.unlink()
    done = heronpy("submit", word_count, "--no-wait", "-o", "json")
    assert (done.stderr, json.loads(done.stdout)["settings"]) == ("", [])
    assert heronpy("kill", "WordCount").exit_code == 0


def test_a_settings_file_that_others_may_write_is_refused_in_one_line(
    heronpy: Heronpy, word_count: str, tmp_path: Path
) -> None:
    file = tmp_path / "heron.toml"
    file.write_text("log.level = 'ERROR'\n")
    file.chmod(0o666)
    done = heronpy("submit", word_count, "--dry-run")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: the settings file heron.toml is not used: {file} can be written by other accounts"
        f" (mode 0666) (try: chmod go-w {file}, or pass --config heron.toml to name it explicitly)\n"
    )
