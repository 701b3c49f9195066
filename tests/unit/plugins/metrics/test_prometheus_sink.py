"""The Prometheus sink, asked over HTTP like a Prometheus server would."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from heronpy.kernel.config import load_config
from heronpy.kernel.errors import ConfigError, PluginError
from heronpy.kernel.plugin.metric_sink import Sample
from heronpy.plugins.metrics.prometheus import Prometheus

LABELS = {"topology": "words", "container": "2", "component": "count", "task": "3"}
Start = Callable[..., Prometheus]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts the sink of a container; all are closed at the end."""
    sinks: list[Prometheus] = []

    def starting(container: int = 2, port: str = "0") -> Prometheus:
        sink = Prometheus()
        config = load_config(environ={}, flags={"plugins.prometheus.port": port})
        sink.initialize(config, "words", container, str(tmp_path))
        sinks.append(sink)
        return sink

    yield starting
    for sink in sinks:
        sink.close()


def test_a_port_that_is_taken_is_known_before_the_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = int(server.getsockname()[1])
        config = load_config(environ={}, flags={"plugins.prometheus.port": str(taken - 2)})
        complaint = f"cannot serve metrics on 127.0.0.1 port {taken}: Address already in use"
        with pytest.raises(PluginError, match=complaint):
            Prometheus.preflight(config, [2], here=True)
        Prometheus.preflight(config, [2], here=False)
    Prometheus.preflight(config, [2], here=True)


def test_a_port_base_without_room_for_all_containers_is_known_before_the_start() -> None:
    config = load_config(environ={}, flags={"plugins.prometheus.port": "65530"})
    with pytest.raises(ConfigError, match=r"plugins\.prometheus\.port must be from 0 to 65525, got '65530'"):
        Prometheus.preflight(config, range(1, 11), here=False)


def scraped(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as response:
        return str(response.read().decode())


def url_of(folder: Path, container: int = 2) -> str:
    return (folder / f"prometheus-{container}.url").read_text().strip()


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("# HELP")]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_the_newest_samples_are_shown_in_prometheus_form(start: Start, tmp_path: Path) -> None:
    sink = start()
    url = url_of(tmp_path)
    assert url.startswith("http://127.0.0.1:")
    assert scraped(url) == ""

    sink.write(1.0, [Sample("emitted", 5, "counter", {**LABELS, "stream": "default"})])
    sink.write(
        2.0,
        [
            Sample("emitted", 7, "counter", {**LABELS, "stream": "default"}),
            Sample("queued", 4, "gauge", LABELS),
            Sample("custom", 0.5, "gauge", {**LABELS, "metric": "hits/€"}),
        ],
    )
    who = 'component="count",container="2"'
    assert lines(scraped(url)) == [
        "# TYPE heronpy_custom gauge",
        f'heronpy_custom{{{who},metric="hits/€",task="3",topology="words"}} 0.5',
        "# TYPE heronpy_emitted_total counter",
        f'heronpy_emitted_total{{{who},stream="default",task="3",topology="words"}} 7.0',
        "# TYPE heronpy_queued gauge",
        f'heronpy_queued{{{who},task="3",topology="words"}} 4.0',
    ]


def test_names_and_labels_are_made_legal(start: Start, tmp_path: Path) -> None:
    start().write(
        1.0, [Sample("a.b-c", 1, "gauge", {"my label": 'say "hi"\n', "__own": "x", "1st": "y", "": "z"})]
    )
    (family,) = text_string_to_metric_families(scraped(url_of(tmp_path)))
    assert family.name == "heronpy_a_b_c"
    assert family.samples[0].labels == {
        "my_label": 'say "hi"\n',
        "label___own": "x",
        "label_1st": "y",
        "label_": "z",
    }


def test_processes_with_different_labels_share_a_metric(start: Start, tmp_path: Path) -> None:
    start().write(
        1.0,
        [Sample("rejected", 1, "counter", {"task": "1"}), Sample("rejected", 2, "counter", {"peer": "x"})],
    )
    (family,) = text_string_to_metric_families(scraped(url_of(tmp_path)))
    assert [(sample.labels, sample.value) for sample in family.samples] == [
        ({"peer": "", "task": "1"}, 1.0),
        ({"peer": "x", "task": ""}, 2.0),
    ]


def test_a_base_port_is_moved_by_the_container_so_that_two_do_not_clash(start: Start, tmp_path: Path) -> None:
    base = free_port() - 2
    start(container=2, port=str(base))
    start(container=3)
    assert url_of(tmp_path, 2) == f"http://127.0.0.1:{base + 2}/metrics"
    assert url_of(tmp_path, 3) != url_of(tmp_path, 2)


def test_a_port_in_use_is_named_with_what_to_try(start: Start, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(PluginError) as error:
            start(container=1, port=str(port - 1))
    assert str(error.value) == (
        f"cannot serve metrics on 127.0.0.1 port {port}: Address already in use"
        " (try: set another plugins.prometheus.port, or 0 for any free one)"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("port", ["many", "-1", "65534"])
def test_a_port_that_cannot_be_is_refused(start: Start, port: str) -> None:
    with pytest.raises(ConfigError) as error:
        start(port=port)
    assert str(error.value) == (
        f"plugins.prometheus.port must be from 0 to 65533, got {port!r} (try: set it to 0 for any free port)"
    )


def test_close_ends_the_server_and_its_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    sink = Prometheus()
    sink.initialize(load_config(environ={}), "words", 2, str(tmp_path))
    url = url_of(tmp_path)
    sink.close()
    assert set(threading.enumerate()) <= before
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match="refused"):
        scraped(url)


def test_an_address_that_cannot_be_written_is_logged_instead(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "gone"
    sink = Prometheus()
    sink.initialize(load_config(environ={}), "words", 2, str(folder))
    try:
        (record,) = caplog.records
        assert scraped(record.getMessage().rpartition(" ")[2]) == ""
    finally:
        sink.close()


def test_the_librarys_global_registry_stays_ours_to_leave_alone(start: Start) -> None:
    start().write(1.0, [Sample("queued", 4, "gauge", LABELS)])
    assert [family.name for family in REGISTRY.collect() if family.name.startswith("heronpy")] == []


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_announcing_the_sinks_does_not_import_the_library() -> None:
    code = (
        "import sys; from heronpy.plugins.metrics import hooks;"
        " print(*hooks.heron_metric_sinks(), 'prometheus_client' in sys.modules)"
    )
    assert run(code) == "jsonl prometheus False"


def test_without_the_library_the_error_says_how_to_get_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['prometheus_client'] = None\n"
        "from heronpy.kernel.config import load_config\n"
        "from heronpy.kernel.errors import PluginError\n"
        "from heronpy.plugins.metrics.prometheus import Prometheus\n"
        f"try: Prometheus().initialize(load_config(environ={{}}), 't', 1, {str(tmp_path)!r})\n"
        "except PluginError as error: print(error)"
    )
    assert run(code) == (
        "the metric sink 'prometheus' needs a library that is not installed: prometheus_client"
        " (try: pip install 'heron-py[prometheus]')"
    )


def test_a_misspelt_setting_is_refused() -> None:
    config = load_config(environ={}, flags={"plugins.prometheus.prot": "9400"})
    with pytest.raises(
        ConfigError, match=r"has no setting plugins.prometheus.prot \(try: --set plugins.prometheus.port="
    ):
        Prometheus.preflight(config, [1], here=True)
