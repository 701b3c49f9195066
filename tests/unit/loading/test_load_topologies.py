"""`heronpy submit FILE.py ARGS…`, up to the plans: the file runs as a script in a process of its own."""

from __future__ import annotations

import signal
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from heronpy.kernel.errors import TopologyError, UsageError
from heronpy.loading import LoadError, import_user_module, load_topologies, resolve_class
from heronpy.loading.file_process import _status_of

HEAD = """\
import sys
from heronpy import Bolt, Grouping, Spout, Topology, TopologyBuilder

class Words(Spout):
    outputs = ["word"]
    def next_tuple(self):
        self.emit(["a"])

class Count(Bolt):
    def process(self, tup):
        pass
"""
BODY = """
class WordCount(Topology):
    words = Words.spec(par=2)
    count = Count.spec(inputs={words: Grouping.fields("word")})
"""

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a topology file; returns its path."""

    def write_file(text: str, name: str = "wordcount.py", head: str = HEAD) -> str:
        path = tmp_path / name
        path.write_text(head + textwrap.dedent(text))
        return str(path)

    return write_file


def test_a_class_body_in_the_file_is_a_topology(write: Write, tmp_path: Path) -> None:
    [plan] = load_topologies(write(BODY))
    assert plan.name == "WordCount"
    assert [(part.name, part.class_path) for part in plan.components] == [
        ("words", "__main__.Words"),
        ("count", "__main__.Count"),
    ]
    assert plan.source.file == str(tmp_path / "wordcount.py")
    assert plan.source.paths[0] == str(tmp_path)


def test_a_builder_named_by_an_argument(write: Write) -> None:
    file = write("""
        if __name__ == "__main__":
            if len(sys.argv) != 2:
                print("Topology's name is not specified")
                sys.exit(1)
            builder = TopologyBuilder(name=sys.argv[1])
            words = builder.add_spout("words", Words, par=2)
            builder.add_bolt("count", Count, par=2, inputs={words: Grouping.fields("word")})
            builder.build_and_submit()
        """)
    [plan] = load_topologies(file, ["mine"])
    assert plan.name == "mine"
    assert plan.source.argv == (file, "mine")
    with pytest.raises(
        LoadError, match=r"^cannot load wordcount.py: called sys.exit\(1\) \(wordcount.py, line 16\)$"
    ):
        load_topologies(file)


def test_what_a_file_submits_counts_and_several_are_all_returned(write: Write) -> None:
    file = write(
        BODY
        + """
for name in sys.argv[1:]:
    builder = TopologyBuilder(name)
    builder.add_spout("words", Words, 1)
    builder.build_and_submit()
"""
    )
    assert [plan.name for plan in load_topologies(file, ["a", "b", "c"])] == ["a", "b", "c"]
    assert [plan.name for plan in load_topologies(file)] == ["WordCount"]
    with pytest.raises(LoadError, match=r"wordcount.py has two topologies called 'a'"):
        load_topologies(file, ["a", "a"])


def test_write_is_another_way_to_submit(write: Write) -> None:
    file = write(BODY + "class Other(Topology):\n    words = Words.spec()\nOther.write()\n")
    assert [plan.name for plan in load_topologies(file)] == ["Other"]


def test_imported_topologies_and_empty_bases_do_not_count(write: Write) -> None:
    write(BODY, "library.py")
    file = write("""
        from library import WordCount
        class Base(Topology):
            config = {"topology.stmgrs": 3}
        class Mine(Base):
            words = Words.spec()
        """)
    assert [(plan.name, plan.config["topology.stmgrs"]) for plan in load_topologies(file)] == [("Mine", 3)]


def test_components_from_modules_beside_the_file_and_on_pythonpath(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "far.py").write_text(HEAD)
    (tmp_path / "near.py").write_text(HEAD)
    monkeypatch.setenv("PYTHONPATH", str(elsewhere))
    file = write("""
        import far, near
        class Mixed(Topology):
            words = near.Words.spec()
            count = far.Count.spec(inputs=[words])
        """)
    [plan] = load_topologies(file)
    assert [part.class_path for part in plan.components] == ["near.Words", "far.Count"]
    assert plan.source.paths == (str(tmp_path), str(elsewhere))


ARGPARSE = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--par", type=int, default=1)
parser.add_argument("name")
options = parser.parse_args()
builder = TopologyBuilder(options.name)
builder.add_spout("words", Words, options.par)
builder.build_and_submit()
"""


def test_argparse_in_the_file_works(write: Write, capfd: pytest.CaptureFixture[str]) -> None:
    file = write(ARGPARSE)
    [plan] = load_topologies(file, ["--par", "3", "mine"])
    assert (plan.name, plan.components[0].parallelism) == ("mine", 3)
    assert load_topologies(file, ["--help"]) == []
    assert "usage: wordcount.py" in capfd.readouterr().err
    with pytest.raises(
        UsageError, match=r"^wordcount.py refused its arguments --pra 3; its own message is above$"
    ):
        load_topologies(file, ["--pra", "3"])
    assert "error: unrecognized arguments: --pra" in capfd.readouterr().err


def test_help_of_a_class_body_topology_submits_nothing(write: Write) -> None:
    file = write(BODY + "import argparse\nargparse.ArgumentParser().parse_args()\n")
    assert load_topologies(file, ["--help"]) == []


def test_what_the_file_prints_goes_to_standard_error(write: Write, capfd: pytest.CaptureFixture[str]) -> None:
    load_topologies(write(BODY + "print('hello from the file')\n"))
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "hello from the file\n")


FAILURES = {
    "a method that takes something else": (
        "class Odd(Count):\n    def process(self): ...\nclass T(Topology):\n    words = Words.spec()\n"
        "    odd = Odd.spec(inputs=[words])\n",
        "bolt 'odd': Odd.process does not take what it is called with (try: define it as process(self, tup))",
    ),
    "a missing module": (
        "import kafak\n",
        "cannot load wordcount.py: ModuleNotFoundError: No module named 'kafak' (wordcount.py, line 12)",
    ),
    "an error deep below": (
        "import json\ndef parse():\n    return json.loads('{')\nparse()\n",
        "cannot load wordcount.py: JSONDecodeError: Expecting property name enclosed in double quotes:"
        " line 1 column 2 (char 1) (wordcount.py, line 14)",
    ),
    "a syntax error": (
        "def broken(:\n    pass\n",
        "cannot load wordcount.py: SyntaxError: invalid syntax: def broken(: (wordcount.py, line 12)",
    ),
    "a wrong spec": (
        "class T(Topology):\n    words = Words.spec(par=0)\n",
        "cannot load wordcount.py: parallelism of Words must be an integer of at least 1, got 0"
        " (wordcount.py, line 13)",
    ),
    "an exit with words": (
        "sys.exit('no luck')\n",
        "cannot load wordcount.py: called sys.exit('no luck') (wordcount.py, line 12)",
    ),
    "a killed process": (
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
        "cannot load wordcount.py: its process was killed by SIGKILL before the file was loaded",
    ),
    "an abrupt end": (
        "import os\nos._exit(0)\n",
        "cannot load wordcount.py: its process ended with status 0 before the file was loaded",
    ),
    "no topology": (
        "",
        "wordcount.py has no pipeline and no topology (try: make a heronpy.Pipeline, define a subclass of"
        " heronpy.Topology with specs in its body, or call TopologyBuilder(…).build_and_submit())",
    ),
    "a class inside a function": (
        "def make():\n    class Hidden(Spout):\n        outputs = ['a']\n    return Hidden\n"
        "class T(Topology):\n    words = make().spec()\n",
        "spout 'words': its class make.<locals>.Hidden is defined inside a function, where no instance can"
        " find it (try: move the class to the top level of the file)",
    ),
    "a class that instances skip": (
        "if __name__ == '__main__':\n    class Late(Words):\n        pass\n"
        "    class T(Topology):\n        words = Late.spec()\n",
        "spout 'words': its class Late is under `if __name__ == \"__main__\"`, which instances skip"
        " (try: move the class to the top level of wordcount.py)",
    ),
    "a class that is gone": (
        "class T(Topology):\n    words = Words.spec()\ndel Words\n",
        "no class '__main__.Words'",
    ),
    "a spout without next_tuple": (
        "class Lazy(Spout):\n    outputs = ['a']\nclass T(Topology):\n    lazy = Lazy.spec()\n",
        "spout 'lazy': its class Lazy must define next_tuple()",
    ),
    "a bolt without process": (
        "class Lazy(Bolt):\n    pass\nclass T(Topology):\n    words = Words.spec()\n"
        "    lazy = Lazy.spec(inputs=[words])\n",
        "bolt 'lazy': its class Lazy must define process(tup)",
    ),
    "an unknown reliability": (
        "class T(Topology):\n    config = {'topology.reliability.mode': 'sometimes'}\n"
        "    words = Words.spec()\n",
        "topology.reliability.mode is 'sometimes' (known: ",
    ),
    "a field that is not there": (
        "class T(Topology):\n    words = Words.spec()\n"
        "    count = Count.spec(inputs={words: Grouping.fields('wrd')})\n",
        "bolt 'count' groups stream 'default' of 'words' by field 'wrd', which it does not have;"
        " did you mean 'word'?",
    ),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_file_that_gives_no_topology_says_why_in_one_line(case: str, write: Write) -> None:
    text, message = FAILURES[case]
    with pytest.raises(TopologyError) as raised:
        load_topologies(write(text))
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_the_traceback_has_the_users_frames_only(write: Write) -> None:
    with pytest.raises(LoadError) as raised:
        load_topologies(write("def inner():\n    return {}['x']\ninner()\n"))
    lines = raised.value.traceback.splitlines()
    assert [line.split("/")[-1] for line in lines if line.startswith("  File")] == [
        'wordcount.py", line 14, in <module>',
        'wordcount.py", line 13, in inner',
    ]
    assert lines[-1] == "KeyError: 'x'"


def test_a_package_in_the_current_folder_is_pointed_out(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here" / "package").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(LoadError, match=r"line 12\) \(try: PYTHONPATH=. heronpy submit …\)$"):
        load_topologies(write("from package.spout import Words\n"))


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        (
            "from examples.lib import Words",
            "PYTHONPATH=FOLDER heronpy submit …, with the folder that has examples,"
            " or pip install its package",
        ),
        (
            "import streamparse",
            "use `from heronpy import Bolt, Spout, Topology`, see docs/coming-from.md:"
            " streamparse is for Storm",
        ),
        (
            "import heronpy.pulsar",
            "read docs/migrating-from-heron.md for the modules of Apache Heron that exist here",
        ),
    ],
)
def test_a_module_that_is_not_found_comes_with_what_to_try(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, hint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LoadError) as raised:
        load_topologies(write(f"{statement}\n"))
    assert str(raised.value).endswith(f" (wordcount.py, line 12) (try: {hint})")


def test_a_package_above_the_file_is_pointed_out(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    file = write("from examples.lib import Words\n", "examples/wordcount.py")
    with pytest.raises(LoadError, match=rf"\(try: PYTHONPATH={tmp_path} heronpy submit …\)$"):
        load_topologies(file)


def test_files_that_are_none(write: Write, tmp_path: Path) -> None:
    write(BODY)
    with pytest.raises(LoadError, match=r"^no file '.*/wordcuont.py'; did you mean 'wordcount.py'\?$"):
        load_topologies(tmp_path / "wordcuont.py")
    with pytest.raises(LoadError, match=r"is a folder \(try: name the file in it"):
        load_topologies(tmp_path)
    with pytest.raises(LoadError, match=r"^no file '/nowhere/at/all.py'$"):
        load_topologies("/nowhere/at/all.py")
    (tmp_path / "notes.md").write_text("# Notes\nSee the manual for more.\n")
    with pytest.raises(LoadError, match=r"^cannot load notes.md: it is not a Python file$"):
        load_topologies(tmp_path / "notes.md")
    (tmp_path / "binary.bin").write_bytes(bytes(range(256)))
    with pytest.raises(LoadError, match=r"^cannot load binary.bin: it is not a Python file$"):
        load_topologies(tmp_path / "binary.bin")


def test_a_method_may_take_more_than_it_is_called_with(write: Write) -> None:
    file = write("""
        class Loose(Words):
            initialize = lambda self, *everything: None
            def next_tuple(self, times=1): ...
            def process(self): "a spout's own affair"
            ack = fail = None
        class T(Topology):
            words = Loose.spec()
        """)
    assert [plan.name for plan in load_topologies(file)] == ["T"]


def test_a_ctrl_c_waits_until_the_file_begins(write: Write) -> None:
    """Else whoever interrupts early reads a traceback out of the middle of Python's own start."""
    held_back = "import signal, sys; sys.exit(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    assert _status_of([sys.executable, "-c", held_back]) == 1
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    file = write("""
        import signal
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
        """)
    with pytest.raises(LoadError, match=r"wordcount.py has no pipeline and no topology"):
        load_topologies(file)


def test_a_file_needs_no_suffix_if_it_is_python(write: Write, tmp_path: Path) -> None:
    [plan] = load_topologies(write(BODY, "wordcount"))
    assert resolve_class(plan.source, "__main__.Words").__name__ == "Words"


def test_an_object_of_the_file_reaches_the_instance(write: Write) -> None:
    import pickle

    file = write("""
        from heronpy.custom_grouping import ICustomGrouping
        class First(ICustomGrouping):
            def choose_tasks(self, values):
                return [values[0]]
        class T(Topology):
            words = Words.spec()
            count = Count.spec(inputs={words: Grouping.custom(First())}, config={"key": lambda v: v + 1})
        """)
    [plan] = load_topologies(file)
    count = plan.component("count")
    assert pickle.loads(count.inputs[0].grouping.pickled).choose_tasks([5]) == [5]
    assert pickle.loads(count.opaque_config["key"])(1) == 2
    assert import_user_module(plan.source).T.topology_name == "T"


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("words = Words.spec(parallelism=2)", "par=…"),
        ("count = Count.spec(input={})", "inputs=…"),
        ("count = Count.spec(xyzzy=1)", "use one of name, par, config, optional_outputs, inputs"),
        ("count = Count.spec(inputs={None: Grouping.SHUFLE})", "SHUFFLE"),
        ("words = Words(par=2)", "use CLASS.spec(par=…): the engine constructs the component itself"),
        ("from heronpy import Spoutt", "Spout"),
        ("from heronpy import Xyzzy", None),
        ("Count.proces", None),
    ],
)
def test_a_misspelt_name_of_ours_has_its_remedy(write: Write, line: str, hint: str | None) -> None:
    with pytest.raises(LoadError) as caught:
        load_topologies(write(f"class WordCount(Topology):\n    {line}\n"))
    assert str(caught.value).partition(" (try: ")[2].removesuffix(")") == (hint or "")


def test_a_component_that_is_written_twice_is_refused(write: Write) -> None:
    with pytest.raises(LoadError, match="the component 'count' is written twice: give the second another"):
        load_topologies(write(BODY + "    count = Count.spec(inputs={words: Grouping.ALL})\n"))
