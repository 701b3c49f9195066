"""The environments of the peers: made once below build/peers, never in the project's own .venv."""

from __future__ import annotations

import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "build" / "peers"
PROGRAMS = Path(__file__).parent / "programs"

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>bench</groupId><artifactId>{name}</artifactId><version>1</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
DEPENDENCY = (
    "    <dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)


class Unavailable(Exception):
    """A peer that cannot run here, and why."""


class Environment(ABC):
    """A folder in which programs of one peer run."""

    def __init__(self, name: str, packages: Sequence[str]) -> None:
        self.name = name
        self.packages = tuple(packages)
        self.folder = PEERS / name

    @property
    def _ready(self) -> Path:
        return self.folder / ".ready"

    def is_ready(self) -> bool:
        return self._ready.exists() and self._ready.read_text() == "\n".join(self.packages)

    def require(self) -> None:
        """Refuse to run where `install` was not called: an installation is no part of a measurement."""
        if not self.is_ready():
            msg = f"{self.name} is not installed; python -m bench install {self.name}"
            raise Unavailable(msg)

    def install(self) -> None:
        """Make the folder anew, unless it has these very packages."""
        if self.is_ready():
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._fill()
        self._ready.write_text("\n".join(self.packages))

    @abstractmethod
    def _fill(self) -> None: ...

    @abstractmethod
    def command(self, program: str) -> list[str]:
        """What runs this program of the folder `programs`; arguments follow."""


class PythonEnvironment(Environment):
    """A virtual environment; packages are requirements of pip."""

    def _fill(self) -> None:
        subprocess.run([sys.executable, "-m", "venv", str(self.folder / "venv")], check=True)
        pip = [str(self._python), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        subprocess.run([*pip, *self.packages], check=True)

    @property
    def _python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    def command(self, program: str) -> list[str]:
        return [str(self._python), str(PROGRAMS / program)]


class JavaEnvironment(Environment):
    """Jars that Maven gathers; packages are group:artifact:version. Options go to the virtual machine."""

    def __init__(self, name: str, packages: Sequence[str], options: Sequence[str] = ()) -> None:
        super().__init__(name, packages)
        self._options = tuple(options)

    def _fill(self) -> None:
        for tool in ("java", "javac", "mvn"):
            if shutil.which(tool) is None:
                msg = f"{self.name} needs {tool}, which is not on the path"
                raise Unavailable(msg)
        dependencies = "\n".join(DEPENDENCY.format(*package.split(":")) for package in self.packages)
        (self.folder / "pom.xml").write_text(POM.format(name=self.name, dependencies=dependencies))
        gather = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={self.folder}/lib"]
        subprocess.run(gather, cwd=self.folder, check=True)

    def command(self, program: str) -> list[str]:
        """Compiles the program, and what it shares with others, where the source is newer."""
        out, main = self.folder / "out", Path(program).stem
        sources = [PROGRAMS / "Measuring.java", PROGRAMS / program]
        compiled = out / f"{main}.class"
        if not compiled.exists() or any(compiled.stat().st_mtime < each.stat().st_mtime for each in sources):
            compile_ = ["javac", "-nowarn", "-d", str(out), "-cp", f"{self.folder}/lib/*"]
            subprocess.run([*compile_, *map(str, sources)], check=True)
        return ["java", *self._options, "-cp", f"{out}:{self.folder}/lib/*", main]


_HEAP = ("-Xms2g", "-Xmx2g", "-XX:+UseG1GC")

ENVIRONMENTS: dict[str, Environment] = {
    each.name: each
    for each in (
        PythonEnvironment("pipe", ["msgspec==0.19.0"]),
        PythonEnvironment("bytewax", ["bytewax==0.21.1"]),
        PythonEnvironment("pathway", ["pathway==0.33.0"]),
        PythonEnvironment("pyflink", ["setuptools<80", "apache-flink==2.3.0"]),
        PythonEnvironment("beam", ["apache-beam==2.77.0"]),
        JavaEnvironment(
            "jet",
            ["com.hazelcast:hazelcast:5.5.0"],
            (
                *_HEAP,
                "--add-modules=java.se",
                "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
                *(
                    f"--add-opens={package}=ALL-UNNAMED"
                    for package in (
                        "java.base/java.lang",
                        "java.base/sun.nio.ch",
                        "java.management/sun.management",
                        "jdk.management/com.sun.management.internal",
                    )
                ),
            ),
        ),
        JavaEnvironment(
            "flink",
            [
                "org.apache.flink:flink-streaming-java:1.20.1",
                "org.apache.flink:flink-clients:1.20.1",
                "org.slf4j:slf4j-nop:1.7.36",
            ],
            (
                *_HEAP,
                *(f"--add-opens=java.base/java.{each}=ALL-UNNAMED" for each in ("util", "lang", "time")),
            ),
        ),
        JavaEnvironment("storm", ["org.apache.storm:storm-server:2.8.1"], _HEAP),
    )
}
