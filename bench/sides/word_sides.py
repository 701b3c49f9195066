"""The word count: on this engine through `heronpy bench words`, and on peers by their own programs."""

from __future__ import annotations

import array
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.peers.environments import ENVIRONMENTS, ROOT, Unavailable
from bench.sides import Sample, Side, WrongResult
from heronpy.bench_words import Tally, WordBlock

HERONPY = str(Path(sys.executable).parent / "heronpy")
#: seconds after which a run is given up
PATIENCE = 900.0
#: the words of Heron's paper
KEYS = 450_000


class HeronpyWords(Side):
    """`heronpy bench words` with options, in a home of its own."""

    def __init__(self, name: str, *options: str, keys: int = KEYS) -> None:
        super().__init__(name)
        self._options = ["--keys", str(keys), *options]

    def run(self, quick: bool) -> Sample:
        with tempfile.TemporaryDirectory(prefix="hb-") as home:
            command = [HERONPY, "bench", "words", *self._options, "--for", "1s" if quick else "2s"]
            said = json.loads(output_of([*command, "-o", "json"], {"HERONPY_HOME": home}))
        assert said["checked"]
        facts = {key: said[key] for key in ("unit", "guarantee", "fuse", "link", "tasks", "keys", "versions")}
        values = {"rate": said["words_per_second"], "cpu": said["cpu_microseconds_per_word"]}
        return Sample(values, facts=facts)


class PeerWords(Side):
    """A program of a peer: BLOCK-FILE FIRST LAST, words between which it measures, then its own options."""

    def __init__(
        self, name: str, peer: str, program: str, span: tuple[int, int], *options: str, keys: int = KEYS
    ) -> None:
        super().__init__(name)
        self._environment = ENVIRONMENTS[peer]
        self._program = program
        self._first, self._last = span
        self._options = options
        self._block = WordBlock(keys, zipf=False)

    def prepare(self) -> None:
        self._environment.require()
        block_file(self._block)

    def run(self, quick: bool) -> Sample:
        first, last = (self._first // 10, self._last // 10) if quick else (self._first, self._last)
        program = self._environment.command(self._program)
        arguments = [str(block_file(self._block)), str(first), str(last), *self._options]
        lines = output_of(isolated([*program, *arguments]), {}).splitlines()
        said = json.loads(next(line for line in reversed(lines) if line.startswith("{")))
        found, expected = Tally(**said["tally"]), self._block.expected(range(last))
        if found != expected:
            msg = f"{self.name} counted {found}, but these words give {expected}"
            raise WrongResult(msg)
        words = said["words"]
        values = {"rate": words / said["seconds"], "cpu": 1e6 * said["cpu_seconds"] / words}
        return Sample(values, facts={"versions": said["versions"]})


def block_file(block: WordBlock) -> Path:
    """The number of each word of the block, 4 bytes each, for programs in any language."""
    file = ROOT / "build" / "words" / f"{'zipf' if block.zipf else 'uniform'}-{block.keys}.numbers"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(".new")
        unfinished.write_bytes(array.array("i", block.numbers()).tobytes())
        unfinished.replace(file)
    return file


def isolated(command: Sequence[str]) -> list[str]:
    """In a network of its own, where that is allowed: some peers listen on every address of the machine."""
    if shutil.which("unshare") is None or os.geteuid() != 0:
        return list(command)
    return ["unshare", "-n", "sh", "-c", 'ip link set lo up; exec "$@"', "sh", *command]


def output_of(command: Sequence[str], more: dict[str, str]) -> str:
    """Standard output; an error has the last line of standard error."""
    environment = {**os.environ, **more}
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or done.stdout.strip().splitlines() or [""]
        msg = f"{Path(command[0]).name} ended with {done.returncode}: {lines[-1]}"
        raise Unavailable(msg)
    return done.stdout
