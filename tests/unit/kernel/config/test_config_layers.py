"""Default < file < environment < flag, and every mistake names the layer it was made in."""

from __future__ import annotations

import importlib.resources
import json
import os
from pathlib import Path

import pytest

from heronpy import constants
from heronpy.kernel.config import Config, load_config
from heronpy.kernel.config.ranges import ORDERED, RANGES
from heronpy.kernel.config.schema import defaults, kinds
from heronpy.kernel.config.topology_keys import HEEDED, UNHEEDED
from heronpy.kernel.errors import ConfigError
from heronpy.plugins.packing import request


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No heron.toml of anybody's lies around."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def test_the_defaults_come_in_the_units_that_code_uses() -> None:
    config = load_config(environ={})
    assert config["credit.window"] == 0.25
    assert config["batch.bytes"] == 256 * 1024
    assert config["batch.tuples"] == 1000
    assert config["metrics.sinks"] == ()
    assert config.home == Path.home() / ".heronpy"
    assert {config.origin(key) for key in config} == {"default"}
    assert list(config) == list(defaults())


def test_each_layer_covers_the_one_below(tmp_path: Path) -> None:
    file = written(tmp_path / "own.toml", "[batch]\ntuples = 1\nbytes = '1KB'\nlinger = '1ms'\n")
    environ = {"HERONPY_BATCH_BYTES": "2KB", "HERONPY_BATCH_LINGER": "2s", "PATH": "/bin"}
    config = load_config(file, environ, {"batch.linger": "3s"})

    assert [config[key] for key in ("batch.tuples", "batch.bytes", "batch.linger")] == [1, 2048, 3.0]
    assert config.origin("batch.tuples") == f"file {file}"
    assert config.origin("batch.bytes") == "environment HERONPY_BATCH_BYTES"
    assert config.origin("batch.linger") == "flag --set"
    assert config.origin("credit.window") == "default"


def test_the_defaults_themselves_in_the_current_folder_are_nobodys_own_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with importlib.resources.as_file(importlib.resources.files("heronpy").joinpath("heron.toml")) as own:
        monkeypatch.chdir(own.parent)
        config = load_config(environ={})
        assert {config.origin(key) for key in config} == {"default"}
        written(tmp_path / ".config/heronpy/heron.toml", "log.level = 'ERROR'")
        assert load_config(environ={"HOME": str(tmp_path)})["log.level"] == "ERROR"


def test_a_file_is_found_in_the_current_folder_before_the_users_own(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path / "home")}
    assert load_config(environ=home)["log.level"] == "INFO"
    written(tmp_path / "home/.config/heronpy/heron.toml", "log.level = 'ERROR'")
    assert load_config(environ=home)["log.level"] == "ERROR"
    written(tmp_path / "heron.toml", "log.level = 'DEBUG'")
    assert load_config(environ=home)["log.level"] == "DEBUG"


def test_unknown_keys_are_errors_with_their_place_and_a_suggestion(tmp_path: Path) -> None:
    file = written(tmp_path / "own.toml", "[credit]\nwindwo = '1s'")
    with pytest.raises(ConfigError) as in_file:
        load_config(file, {})
    assert str(in_file.value) == (
        f"unknown setting 'credit.windwo' (from file {file}); did you mean 'credit.window'?"
        " (try: heronpy config show)"
    )
    with pytest.raises(ConfigError, match=r"HERONPY_HOEM is not a setting; did you mean 'HERONPY_HOME'\?"):
        load_config(environ={"HERONPY_HOEM": "/x"})
    with pytest.raises(
        ConfigError, match=r"'batch.tupels' \(from flag --set\); did you mean 'batch.tuples'\?"
    ):
        load_config(environ={}, flags={"batch.tupels": "1"})
    with pytest.raises(ConfigError, match=r"unknown setting 'plugins.ssh'"):
        load_config(environ={}, flags={"plugins.ssh": "1"})


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("batch.tuples", "many", "batch.tuples must be a whole number, got 'many'"),
        ("batch.bytes", "10s", 'batch.bytes must be a size such as "64KB", "1MB" or "2GB", got \'10s\''),
        (
            "credit.window",
            "soon",
            'credit.window must be a duration such as "250ms", "10s" or "5m", got \'soon\'',
        ),
        ("home", "", "home must be a path, got ''"),
        ("container.start", "fork", "container.start must be one of zygote, spawn, got 'fork'"),
        ("container.silence", "0s", "container.silence must be at least 1s and at most 1d, got '0s'"),
        ("container.lost", "999ms", "container.lost must be at least 1s and at most 1d, got '999ms'"),
        (
            "container.restart_attempts",
            "-1",
            "container.restart_attempts must be at least 0 and at most 1000000, got '-1'",
        ),
        ("transport.port", "99999", "transport.port must be at least 0 and at most 65535, got '99999'"),
        ("credit.window", "0s", "credit.window must be at least 1ms and at most 1h, got '0s'"),
        ("credit.max_bytes", "0", "credit.max_bytes must be at least 1B and at most 1TB, got '0'"),
        ("batch.tuples", "0", "batch.tuples must be at least 1 and at most 1000000, got '0'"),
        (
            "transport.frame_bytes",
            "1",
            "transport.frame_bytes must be at least 64KB and at most 1GB, got '1'",
        ),
        ("metrics.interval", "0s", "metrics.interval must be at least 50ms and at most 1h, got '0s'"),
        (
            "transport.host",
            "10.0.0.0/64",
            "transport.host must be an address or a network such as \"10.0.0.0/24\", got '10.0.0.0/64'",
        ),
    ],
)
def test_wrong_types_say_what_was_wanted(key: str, value: str, complaint: str) -> None:
    name = "HERONPY_" + key.upper().replace(".", "_")
    with pytest.raises(ConfigError) as error:
        load_config(environ={name: value})
    assert str(error.value) == f"{complaint} (from environment {name})"
    assert error.value.exit_code == 2


def test_every_number_has_a_range_and_its_ends_may_be_set() -> None:
    numbers = ("integer", "number", "duration", "size")
    assert set(RANGES) == {key for key, kind in kinds().items() if kind in numbers}
    wide = {low: RANGES[low][0] for low, _ in ORDERED} | {high: RANGES[high][1] for _, high in ORDERED}
    for key, ends in RANGES.items():
        for end in ends:
            if (key, end) not in wide.items():
                assert load_config(environ={}, flags={**wide, key: end}).origin(key) == "flag --set"


def test_two_settings_that_contradict_each_other_are_named_with_their_origins() -> None:
    with pytest.raises(ConfigError) as error:
        load_config(environ={}, flags={"spout.idle_min": "30ms"})
    assert str(error.value) == (
        "spout.idle_min, 30ms (from flag --set) must not be more than spout.idle_max, 20ms (from default)"
    )


def test_a_file_may_give_sizes_as_plain_numbers_but_not_other_types(tmp_path: Path) -> None:
    file = written(tmp_path / "own.toml", "batch.bytes = 2048\nmetrics.sinks = ['jsonl']")
    config = load_config(file, {})
    assert (config["batch.bytes"], config["metrics.sinks"]) == (2048, ("jsonl",))
    for wrong in ("batch.tuples = 1.5", "batch.tuples = true", "log.level = 3", "metrics.sinks = [1]"):
        with pytest.raises(ConfigError, match="must be"):
            load_config(written(tmp_path / "own.toml", wrong), {})


def test_a_missing_or_broken_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no settings file 'nowhere.toml'"):
        load_config("nowhere.toml", {})
    with pytest.raises(ConfigError, match=r"cannot read the settings file .*broken.toml"):
        load_config(written(tmp_path / "broken.toml", "a = = 1"), {})


def test_a_plugin_has_a_table_of_its_own(tmp_path: Path) -> None:
    file = written(tmp_path / "own.toml", "[plugins.ssh]\nport = 22\noptions = { quiet = true }\n")
    config = load_config(file, {}, {"plugins.ssh.hosts": "a,b"})
    assert config.plugin("ssh") == {"port": 22, "options": {"quiet": True}, "hosts": "a,b"}
    assert config.plugin("other") == {}


def test_config_of_the_topology_keeps_its_types(tmp_path: Path) -> None:
    text = "[topology]\ncomponent.rammap = { count = '2GB' }\nmax.spout.pending = 5\n"
    flags = {"topology.stmgrs": "2", "topology.key.groups": "64", "topology.reliability.mode": "ATLEAST_ONCE"}
    flags["topology.enable.message.timeouts"] = "false"
    assert load_config(written(tmp_path / "own.toml", text), {}, flags).topology == {
        "topology.component.rammap": {"count": "2GB"},
        "topology.max.spout.pending": 5,
        "topology.stmgrs": 2,
        "topology.key.groups": 64,
        "topology.reliability.mode": "ATLEAST_ONCE",
        "topology.enable.message.timeouts": False,
    }


def test_a_component_has_a_table_of_its_own_where_any_key_goes(tmp_path: Path) -> None:
    text = "[component.count]\nword.limit = 5\nlanguages = ['en']\n"
    flags = {"component.count.word.limit": "7", "component.count.stop": '["a", "the"]'}
    assert load_config(written(tmp_path / "own.toml", text), {}, flags).component == {
        "component.count.word.limit": 7,
        "component.count.languages": ["en"],
        "component.count.stop": ["a", "the"],
    }
    with pytest.raises(ConfigError, match=r"unknown setting 'component.count' \(from flag --set\)"):
        load_config(environ={}, flags={"component.count": "7"})


def test_a_key_of_the_topology_that_has_no_effect_is_refused(tmp_path: Path) -> None:
    own = "(try: set component.NAME.KEY for a component's own key)"
    with pytest.raises(ConfigError) as typo:
        load_config(environ={}, flags={"topology.stmgr": "2"})
    assert str(typo.value) == (
        f"unknown setting 'topology.stmgr' (from flag --set); did you mean 'topology.stmgrs'? {own}"
    )
    with pytest.raises(ConfigError) as unknown:
        load_config(environ={}, flags={"topology.acking": "true"})
    assert str(unknown.value) == f"unknown setting 'topology.acking' (from flag --set) {own}"
    file = written(tmp_path / "own.toml", "[topology]\ndebug = true\n")
    with pytest.raises(ConfigError) as unheeded:
        load_config(file, {})
    assert str(unheeded.value) == (
        f"topology.debug (from file {file}) means nothing to heronpy"
        " (try: set component.NAME.topology.debug for a component that reads it)"
    )


def test_a_number_without_a_unit_is_no_duration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as flag:
        load_config(environ={}, flags={"credit.window": "500"})
    assert str(flag.value) == (
        "credit.window must be a duration with its unit, got '500': 500s or 500ms (from flag --set)"
    )
    file = written(tmp_path / "own.toml", "credit.window = 0.5")
    with pytest.raises(ConfigError, match=r"credit.window must be .* got 0.5: 0.5s or 0.5ms \(from file"):
        load_config(file, {})


def test_every_key_of_a_topology_is_either_heeded_or_not() -> None:
    names = {value for name, value in vars(constants).items() if name.startswith("TOPOLOGY_")}
    assert names <= HEEDED | UNHEEDED
    assert names >= UNHEEDED
    assert set() == HEEDED & UNHEEDED
    read_by_packing = {value for value in vars(request).values() if str(value).startswith("topology.")}
    assert read_by_packing <= HEEDED


def test_a_relative_home_becomes_absolute_since_other_processes_read_it(tmp_path: Path) -> None:
    assert load_config(environ={"HERONPY_HOME": "here"}).home == tmp_path / "here"
    assert load_config(environ={"HERONPY_HOME": "~/there"}).home == Path(os.path.expanduser("~/there"))


def test_settings_travel_to_another_process_as_json() -> None:
    config = load_config(environ={}, flags={"metrics.sinks": "jsonl, prometheus", "plugins.x.y": "z"})
    arrived = Config.from_plain(json.loads(json.dumps(config.to_plain())))
    assert dict(arrived) == dict(config)
    assert arrived.words("metrics.sinks") == ("jsonl", "prometheus")
    assert arrived.origin("metrics.sinks") == "flag --set"


def test_values_are_shown_as_the_file_would_have_them() -> None:
    config = load_config(environ={}, flags={"metrics.sinks": "jsonl,prometheus"})
    shown = [config.shown(key) for key in ("credit.window", "batch.bytes", "batch.tuples", "metrics.sinks")]
    assert shown == ["250ms", "256KB", "1000", "jsonl,prometheus"]


def test_typed_getters_agree_with_the_mapping() -> None:
    config = load_config(environ={})
    assert (config.text("log.level"), config.integer("batch.tuples"), config.number("kill.timeout")) == (
        "INFO",
        1000,
        10.0,
    )
    with pytest.raises(KeyError):
        config["batch.tupels"]


def test_no_two_settings_share_an_environment_name() -> None:
    names = [key.upper().replace(".", "_") for key in defaults()]
    assert len(set(names)) == len(names)
    assert kinds()["submit.timeout"] == "duration"


def test_every_setting_in_heron_toml_has_a_comment() -> None:
    text = Path(__file__).parents[4].joinpath("heron.toml").read_text()
    settings = [line for line in text.splitlines() if "=" in line.split("#")[0]]
    bare = [line for line in settings if not line.partition("#")[2].strip()]
    assert bare == []
    assert len(settings) == len(defaults())


def test_an_option_that_stands_for_a_setting_is_named_as_the_origin() -> None:
    config = load_config(environ={}, flags={"--packing": "binpack", "--timeout": "5s"})
    assert (config["packing.algorithm"], config.origin("packing.algorithm")) == ("binpack", "flag --packing")
    with pytest.raises(ConfigError, match=r"submit.timeout must be a duration .* \(from flag --timeout\)"):
        load_config(environ={}, flags={"--timeout": "soon"})


def test_a_section_lists_its_settings_and_a_key_without_one_is_found() -> None:
    with pytest.raises(ConfigError, match=r"'log' \(from flag --set\): it is a section, with log\.level, "):
        load_config("/dev/null", environ={}, flags={"log": "DEBUG"})
    with pytest.raises(ConfigError, match=r"'windw' \(from flag --set\); did you mean 'credit.window'\?"):
        load_config("/dev/null", environ={}, flags={"windw": "1s"})


def test_a_misspelt_section_of_the_topology_is_guessed() -> None:
    with pytest.raises(
        ConfigError, match=r"unknown setting 'topolgy.stmgrs' .*; did you mean 'topology.stmgrs'\?"
    ):
        load_config(environ={}, flags={"topolgy.stmgrs": "1"})
