"""In an instance: the submitted file is imported under a name of its own, and submits nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from heronpy.kernel.errors import TopologyError
from heronpy.kernel.plans import Source
from heronpy.loading import import_user_module, resolve_class

FILE = """\
import sys
import beside
from heronpy import Bolt, Spout, Topology, TopologyBuilder

ran_as, arguments = __name__, list(sys.argv)

class Words(Spout):
    outputs = ["word"]
    class Inner:
        pass

class T(Topology):
    words = Words.spec()

T.write()
builder = TopologyBuilder(sys.argv[1])
builder.add_spout("words", Words, 1)
builder.build_and_submit()
not_a_class = 5
"""


@pytest.fixture
def source(tmp_path: Path) -> Source:
    (tmp_path / "word-count.v2.py").write_text(FILE)
    (tmp_path / "beside.py").write_text("class Far:\n    class Inner:\n        pass\n")
    (tmp_path / "breaks.py").write_text("import kafak\n")
    file = tmp_path / "word-count.v2.py"
    return Source(file=str(file), argv=(str(file), "mine"), paths=(str(tmp_path),))


def test_the_file_sees_its_arguments_and_submits_nothing(
    source: Source, capfd: pytest.CaptureFixture[str]
) -> None:
    module = import_user_module(source)
    assert module.ran_as == module.__name__ == "heron_topology_file_word_count_v2"
    assert module.arguments == list(source.argv)
    assert sys.modules[module.__name__] is module
    assert capfd.readouterr() == ("", "")


def test_it_runs_once_and_its_folder_comes_first(source: Source) -> None:
    assert import_user_module(source) is import_user_module(source)
    assert sys.path[0] == source.paths[0]
    assert sys.path.count(source.paths[0]) == 1


def test_classes_are_found_by_path(source: Source) -> None:
    module = import_user_module(source)
    assert resolve_class(source, "__main__.Words") is module.Words
    assert resolve_class(source, "__main__.Words.Inner") is module.Words.Inner
    assert resolve_class(source, "beside.Far.Inner") is module.beside.Far.Inner
    assert resolve_class(source, "collections.abc.Mapping").__name__ == "Mapping"


def test_a_class_of_another_module_does_not_run_the_file(source: Source) -> None:
    assert resolve_class(source, "beside.Far").__name__ == "Far"
    assert "heron_topology_file_word_count_v2" not in sys.modules


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "__main__.Wrods",
            r"no class '__main__.Wrods': .*word-count.v2.py has no 'Wrods'; did you mean 'Words'\?",
        ),
        ("__main__.not_a_class", "'__main__.not_a_class' is not a class but 5"),
        ("nowhere.Words", r"no module for class 'nowhere.Words' \(try: put its folder on PYTHONPATH"),
        ("beside.Fra", r"no class 'beside.Fra': .* did you mean 'Far'\?"),
    ],
)
def test_a_class_that_is_not_there_is_named(source: Source, path: str, message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        resolve_class(source, path)


def test_a_module_that_breaks_says_so_itself(source: Source) -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named 'kafak'"):
        resolve_class(source, "breaks.Words")


def test_a_file_that_breaks_leaves_no_half_module(tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text("x = 1\nraise ValueError('half way')\n")
    with pytest.raises(ValueError, match="half way"):
        import_user_module(Source(file=str(tmp_path / "half.py"), paths=(str(tmp_path),)))
    assert "heron_topology_file_half" not in sys.modules
