"""Default < file < environment < flag, and every mistake names the layer it was made in."""

from __future__ import annotations

import importlib.resources
import json
import os
from pathlib import Path

import pytest

from heronpy.kernel.config import Config, load_config
from heronpy.kernel.config.schema import defaults, kinds
from heronpy.kernel.errors import ConfigError


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
    with pytest.raises(ConfigError, match=r"HERONPY_HOEM is no setting; did you mean 'HERONPY_HOME'\?"):
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
        ("container.silence", "0s", "container.silence must be at least 1s, got '0s'"),
        ("container.lost", "999ms", "container.lost must be at least 1s, got '999ms'"),
        ("container.restart_attempts", "-1", "container.restart_attempts must be at least 0, got '-1'"),
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


def test_a_file_may_give_plain_numbers_but_not_other_types(tmp_path: Path) -> None:
    file = written(tmp_path / "own.toml", "credit.window = 2\nbatch.bytes = 100\nmetrics.sinks = ['jsonl']")
    config = load_config(file, {})
    assert (config["credit.window"], config["batch.bytes"], config["metrics.sinks"]) == (2.0, 100, ("jsonl",))
    for wrong in ("batch.tuples = 1.5", "batch.tuples = true", "log.level = 3", "metrics.sinks = [1]"):
        with pytest.raises(ConfigError, match="must be"):
            load_config(written(tmp_path / "own.toml", wrong), {})


def test_a_missing_or_broken_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no settings file 'nowhere.toml'"):
        load_config("nowhere.toml", {})
    with pytest.raises(ConfigError, match=r"cannot read the settings file .*broken.toml"):
        load_config(written(tmp_path / "broken.toml", "a = = 1"), {})


def test_plugins_and_topologies_have_tables_of_their_own(tmp_path: Path) -> None:
    file = written(tmp_path / "own.toml", "[plugins.ssh]\nport = 22\noptions = { quiet = true }\n")
    flags = {"plugins.ssh.hosts": "a,b", "topology.acking": "true", "topology.ram": "5", "topology.who": "me"}
    config = load_config(file, {}, flags)
    assert config.plugin("ssh") == {"port": 22, "options": {"quiet": True}, "hosts": "a,b"}
    assert config.plugin("other") == {}
    assert config.topology == {"topology.acking": True, "topology.ram": 5, "topology.who": "me"}


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
    text = Path(__file__).parents[3].joinpath("heron.toml").read_text()
    settings = [line for line in text.splitlines() if "=" in line.split("#")[0]]
    bare = [line for line in settings if not line.partition("#")[2].strip()]
    assert bare == []
    assert len(settings) == len(defaults())


def test_an_option_that_stands_for_a_setting_is_named_as_the_origin() -> None:
    config = load_config(environ={}, flags={"--packing": "binpack", "--timeout": "5s"})
    assert (config["packing.algorithm"], config.origin("packing.algorithm")) == ("binpack", "flag --packing")
    with pytest.raises(ConfigError, match=r"submit.timeout must be a duration .* \(from flag --timeout\)"):
        load_config(environ={}, flags={"--timeout": "soon"})
