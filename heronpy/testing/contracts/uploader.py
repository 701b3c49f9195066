"""The uploader contract: subclass it in your tests and say how to make your uploader."""

from __future__ import annotations

import abc
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heronpy.kernel.config import Config
from heronpy.kernel.errors import UploadError
from heronpy.kernel.plugin import Uploader

MEBIBYTE = 1024 * 1024

#: as the engine makes them: of the sha256, so that one name has one content
PACKAGE = f"heronpy-{'5e' * 32}.pyz"

#: names that no uploader may take
_TRAPS = ["", ".", "..", "../x", "/x", "/etc/x", "a/b", "a/", ".x", "-x", "a b", "a\0b", "a\n", "é", "~"]
_TRAPS += ["a\\b", "a:b", "x" * 129]


class UploaderContract(abc.ABC):
    """What the engine relies on, wherever the bytes are.

    ```python
    class TestMyUploader(UploaderContract):
        def make(self) -> Uploader:
            return MyUploader()

        def config(self) -> Config:
            return load_config("/dev/null", environ={}, flags={"upload.path": self.place})
    ```
    """

    @abc.abstractmethod
    def make(self) -> Uploader:
        """A fresh uploader, not yet initialized."""

    @abc.abstractmethod
    def config(self) -> Config:
        """The settings to initialize with: the same for all of one test, an empty place for each test."""

    @pytest.fixture
    def another(self) -> Iterator[Callable[[], Uploader]]:
        """Opens one more client of the same place, as another machine would."""
        opened: list[Uploader] = []

        def open_one() -> Uploader:
            uploader = self.make()
            uploader.initialize(self.config())
            opened.append(uploader)
            return uploader

        yield open_one
        for uploader in opened:
            uploader.close()

    @pytest.fixture
    def uploader(self, another: Callable[[], Uploader]) -> Uploader:
        return another()

    @pytest.fixture
    def file(self, tmp_path: Path) -> Callable[[bytes], str]:
        """Makes a file with this content, and returns its path."""
        folder = tmp_path / "to-upload"
        folder.mkdir()

        def made(content: bytes) -> str:
            path = folder / str(len(list(folder.iterdir())))
            path.write_bytes(content)
            return str(path)

        return made

    @pytest.fixture
    def target(self, tmp_path: Path) -> Path:
        """Where to download to: a path in a folder with nothing else."""
        folder = tmp_path / "downloaded"
        folder.mkdir()
        return folder / "heronpy.pyz"

    def test_it_can_be_closed_right_after_initialize(self) -> None:
        uploader = self.make()
        uploader.initialize(self.config())
        uploader.close()

    def test_what_one_machine_puts_another_gets(
        self,
        uploader: Uploader,
        another: Callable[[], Uploader],
        file: Callable[[bytes], str],
        target: Path,
    ) -> None:
        url = uploader.put(PACKAGE, file(b"PK\x03\x04 and so on\x00\xff"))
        assert "://" in url
        another().get(url, str(target))
        assert target.read_bytes() == b"PK\x03\x04 and so on\x00\xff"
        assert list(target.parent.iterdir()) == [target], "nothing else is left there"

    def test_a_file_may_be_empty(
        self, uploader: Uploader, file: Callable[[bytes], str], target: Path
    ) -> None:
        uploader.get(uploader.put(PACKAGE, file(b"")), str(target))
        assert target.read_bytes() == b""
        assert uploader.names() == [PACKAGE]

    def test_what_is_there_already_is_not_uploaded_again(
        self,
        uploader: Uploader,
        another: Callable[[], Uploader],
        file: Callable[[bytes], str],
        target: Path,
    ) -> None:
        url = uploader.put(PACKAGE, file(b"first"))
        assert another().put(PACKAGE, file(b"other")) == url
        uploader.get(url, str(target))
        assert target.read_bytes() == b"first"

    def test_what_has_another_size_is_damaged_and_replaced(
        self, uploader: Uploader, file: Callable[[bytes], str], target: Path
    ) -> None:
        url = uploader.put(PACKAGE, file(b"half of"))
        assert uploader.put(PACKAGE, file(b"half of it and the rest")) == url
        uploader.get(url, str(target))
        assert target.read_bytes() == b"half of it and the rest"
        assert uploader.names() == [PACKAGE]

    def test_a_download_takes_the_place_of_what_was_there(
        self, uploader: Uploader, file: Callable[[bytes], str], target: Path
    ) -> None:
        target.write_bytes(b"something old, and longer")
        uploader.get(uploader.put(PACKAGE, file(b"new")), str(target))
        assert target.read_bytes() == b"new"

    def test_a_missing_object_is_named_and_leaves_what_was_there(
        self, uploader: Uploader, file: Callable[[bytes], str], target: Path
    ) -> None:
        url = uploader.put(PACKAGE, file(b"new"))
        uploader.delete(PACKAGE)
        target.write_bytes(b"old")
        with pytest.raises(UploadError) as refused:
            uploader.get(url, str(target))
        assert url in str(refused.value)
        assert target.read_bytes() == b"old"
        assert list(target.parent.iterdir()) == [target]

    @pytest.mark.parametrize("url", ["nowhere://x/y", "file:///etc/passwd", "/etc/passwd", "passwd", ""])
    def test_a_url_of_elsewhere_is_refused(self, uploader: Uploader, target: Path, url: str) -> None:
        with pytest.raises(UploadError):
            uploader.get(url, str(target))
        assert not target.exists()

    def test_a_file_that_is_not_there_is_named(self, uploader: Uploader, tmp_path: Path) -> None:
        missing = str(tmp_path / "missing.pyz")
        with pytest.raises(UploadError) as refused:
            uploader.put(PACKAGE, missing)
        assert missing in str(refused.value)
        assert uploader.names() == []

    def test_deleting_may_be_repeated_and_touches_nothing_else(
        self,
        uploader: Uploader,
        another: Callable[[], Uploader],
        file: Callable[[bytes], str],
    ) -> None:
        for name in ("b.pyz", "a.json", "a.json-1"):
            uploader.put(name, file(name.encode()))
        other = another()
        assert other.names() == ["a.json", "a.json-1", "b.pyz"]
        for name in ("a.json", "a.json", "never"):
            uploader.delete(name)
        assert other.names() == ["a.json-1", "b.pyz"]

    def test_nothing_is_there_at_first(self, uploader: Uploader) -> None:
        assert uploader.names() == []
        uploader.delete(PACKAGE)

    @pytest.mark.parametrize("name", _TRAPS)
    def test_odd_names_are_refused(self, uploader: Uploader, file: Callable[[bytes], str], name: str) -> None:
        path = file(b"x")
        acts: list[Callable[[], object]] = [
            lambda: uploader.put(name, path),
            lambda: uploader.delete(name),
        ]
        for act in acts:
            with pytest.raises(UploadError, match="cannot be the name of an upload"):
                act()
        assert uploader.names() == []

    def test_packages_are_large(self, uploader: Uploader, file: Callable[[bytes], str], target: Path) -> None:
        content = random.Random(7).randbytes(MEBIBYTE) * 32
        uploader.get(uploader.put(PACKAGE, file(content)), str(target))
        assert target.read_bytes() == content

    def test_many_put_the_same_side_by_side(
        self, another: Callable[[], Uploader], file: Callable[[bytes], str], target: Path
    ) -> None:
        content = random.Random(7).randbytes(MEBIBYTE)
        paths = [file(content) for _ in range(4)]
        urls: list[str] = []

        def put(uploader: Uploader, path: str) -> None:
            urls.append(uploader.put(PACKAGE, path))

        threads = [threading.Thread(target=put, args=(another(), path)) for path in paths]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (url,) = set(urls)
        assert len(urls) == len(paths), "each of them got the URL"
        another().get(url, str(target))
        assert target.read_bytes() == content
        assert another().names() == [PACKAGE]
