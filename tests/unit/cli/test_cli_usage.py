"""Help, misspelt words, and how errors end."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from heronpy.cli.main import VERBS, cli
from heronpy.kernel.errors import UserError

Heronpy = Callable[..., Result]

DEAR = ("zmq", "rich", "msgspec", "google.protobuf", "pluggy", "psutil", "cloudpickle")


def test_help_names_every_verb(heronpy: Heronpy) -> None:
    shown = heronpy("--help")
    assert shown.exit_code == 0
    for verb, text in VERBS.items():
        assert f"{verb} " in shown.stdout
        assert text in shown.stdout


def test_help_imports_nothing_that_costs_time() -> None:
    program = (
        "import sys\n"
        "from heronpy.cli.main import cli\n"
        "try: cli.main(['--help'], prog_name='heronpy')\n"
        "except SystemExit as end: assert end.code == 0\n"
        f"print([name for name in {DEAR!r} if name in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_module_whose_help_begins_like_the_table(heronpy: Heronpy, verb: str) -> None:
    shown = heronpy(verb, "--help")
    assert shown.exit_code == 0
    assert shown.stdout.startswith(f"Usage: heronpy {verb}")


@pytest.mark.parametrize(
    "verb",
    [*sorted(set(VERBS) - {"bench", "completion", "config", "plugin"}), "bench words", "bench nexmark"],
)
def test_every_verb_takes_settings(heronpy: Heronpy, verb: str) -> None:
    shown = heronpy(*verb.split(), "--help").stdout
    assert all(option in shown for option in ("--state", "--set", "--config"))


def test_a_misspelt_verb_is_a_usage_error_with_a_suggestion(heronpy: Heronpy) -> None:
    refused = heronpy("sumbit", "x.py")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert (
        refused.stderr == "error: no command named 'sumbit'; did you mean 'submit'? (try: heronpy --help)\n"
    )


@pytest.mark.parametrize(("word", "verb"), [("stop", "kill"), ("scale", "update"), ("ps", "list")])
def test_the_word_of_another_tool_leads_to_the_verb(heronpy: Heronpy, word: str, verb: str) -> None:
    refused = heronpy(word, "x")
    assert refused.exit_code == 2
    assert refused.stderr.startswith(f"error: no command named {word!r}; did you mean {verb!r}?")


def test_killing_all_of_nothing_says_so(heronpy: Heronpy) -> None:
    done = heronpy("kill", "--all")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "no topologies\n")


def test_a_misspelt_option_is_a_usage_error_with_a_suggestion(heronpy: Heronpy) -> None:
    refused = heronpy("list", "--stat", "localfs")
    assert refused.exit_code == 2
    assert refused.stderr == "error: no option '--stat'; did you mean '--state'? (try: heronpy list --help)\n"


def test_an_unknown_option_of_submit_says_where_the_topologys_own_go(heronpy: Heronpy) -> None:
    refused = heronpy("submit", "x.py", "arg", "--pakcing", "binpack")
    assert refused.exit_code == 2
    assert refused.stderr == (
        "error: no option '--pakcing'; did you mean '--packing'?"
        " (try: put the topology's own options after --)\n"
    )


def test_a_wrong_value_is_said_in_one_line(heronpy: Heronpy) -> None:
    refused = heronpy("list", "-o", "yaml")
    assert refused.exit_code == 2
    assert refused.stderr.startswith(
        "error: invalid value for '-o' / '--output': 'yaml' is not one of 'table', 'json'"
    )
    assert refused.stderr.count("\n") == 1


def test_a_missing_argument_is_said_in_one_line(heronpy: Heronpy) -> None:
    refused = heronpy("status")
    assert (refused.exit_code, refused.stderr) == (
        2,
        "error: missing argument 'NAME' (try: heronpy status --help)\n",
    )


def test_a_setting_without_a_value_is_refused(heronpy: Heronpy) -> None:
    refused = heronpy("config", "show", "--set", "batch.tuples")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: --set wants KEY=VALUE, got 'batch.tuples'")


def test_a_users_mistake_is_one_line_and_a_bug_keeps_its_traceback(
    heronpy: Heronpy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistake(*args: object) -> None:
        msg = "the pond is dry"
        raise UserError(msg, hint="rain")

    def bug(*args: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(type(cli), "get_command", mistake)
    ended = heronpy("list")
    assert (ended.exit_code, ended.stderr) == (1, "error: the pond is dry (try: rain)\n")
    monkeypatch.setattr(type(cli), "get_command", bug)
    with pytest.raises(ZeroDivisionError):
        heronpy("list")


def test_a_file_that_fails_shows_the_users_frames_above_the_line(heronpy: Heronpy, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def half(x):\n    return x / 0\nhalf(3)\n")
    refused = heronpy("submit", "bad.py")
    assert (refused.exit_code, refused.stdout) == (1, "")
    lines = refused.stderr.splitlines()
    assert lines[0] == "  Traceback (most recent call last):"
    assert [line.split(", ", 1)[1] for line in lines if line.startswith("    File")] == [
        "line 3, in <module>",
        "line 2, in half",
    ]
    assert lines[-1] == "error: cannot load bad.py: ZeroDivisionError: division by zero (bad.py, line 2)"


def test_the_version_can_be_asked_for_as_an_option(heronpy: Heronpy) -> None:
    assert heronpy("--version").stdout == f"heronpy {importlib.metadata.version('heron-py')}\n"


def test_output_to_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        code = "from heronpy.cli.main import main; main()"
        command = [sys.executable, "-c", code, "config", "show"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        "error: cannot write the output: No space left on device\n",
    )


def test_ctrl_c_ends_with_the_shells_code(heronpy: Heronpy, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(cli), "get_command", interrupted)
    assert heronpy("list").exit_code == 130


def test_config_show_tells_where_each_value_comes_from(heronpy: Heronpy, tmp_path: Path) -> None:
    (tmp_path / "heron.toml").write_text("[batch]\ntuples = 7\n")
    shown = heronpy("config", "show", "--set", "credit.window=1s", "--state", "elsewhere")
    lines = {line.split()[0]: line.split()[1:] for line in shown.stdout.splitlines()}
    assert lines["batch.tuples"] == ["7", "file", str(tmp_path / "heron.toml")]
    assert lines["credit.window"] == ["1s", "flag", "--set"]
    assert lines["state.manager"] == ["elsewhere", "flag", "--state"]
    assert lines["home"] == [str(tmp_path / "home"), "environment", "HERONPY_HOME"]
    assert lines["batch.linger"] == ["2ms", "default"]


def test_config_show_as_json_has_the_values_that_code_uses(heronpy: Heronpy) -> None:
    shown = json.loads(heronpy("config", "show", "-o", "json").stdout)
    assert shown["credit.window"] == {"value": 0.25, "origin": "default"}


def test_an_unknown_setting_is_a_usage_error(heronpy: Heronpy) -> None:
    refused = heronpy("config", "show", "--set", "batch.tupels=1")
    assert refused.exit_code == 2
    assert "unknown setting 'batch.tupels' (from flag --set); did you mean 'batch.tuples'?" in refused.stderr


def test_version_names_what_a_bug_report_needs(heronpy: Heronpy) -> None:
    assert set(json.loads(heronpy("version", "-o", "json").stdout)) == {"heronpy", "python", "pyzmq"}
    assert heronpy("version").stdout.startswith("heronpy ")


def test_plugins_lists_name_kind_and_origin(heronpy: Heronpy) -> None:
    found = json.loads(heronpy("plugins", "-o", "json").stdout)
    by_name = {(one["kind"], one["name"]): one["origin"] for one in found}
    for built_in in (("packing", "round_robin"), ("state", "localfs"), ("scheduler", "local")):
        assert by_name[built_in].startswith("heron-py ")
    assert heronpy("plugins").stdout.splitlines()[0].split() == ["name", "kind", "from"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(heronpy: Heronpy, shell: str) -> None:
    assert f"_HERONPY_COMPLETE={shell}_complete" in heronpy("completion", shell).stdout


def completed(words: str, monkeypatch: pytest.MonkeyPatch, heronpy: Heronpy) -> list[str]:
    monkeypatch.setenv("_HERONPY_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    return [line.partition(",")[2] for line in heronpy().stdout.splitlines() if line]


def test_the_shell_is_offered_verbs_and_options(heronpy: Heronpy, monkeypatch: pytest.MonkeyPatch) -> None:
    assert completed("heronpy sta", monkeypatch, heronpy) == ["status"]
    assert completed("heronpy list --s", monkeypatch, heronpy) == ["--state", "--set"]
    assert completed("heronpy kill x", monkeypatch, heronpy) == []
