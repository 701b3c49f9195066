"""Serves the newest samples for a Prometheus server to scrape."""

from __future__ import annotations

import errno
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from heronpy.kernel.config import Config
from heronpy.kernel.errors import ConfigError, PluginError
from heronpy.kernel.machine.private import private
from heronpy.kernel.plugin.metric_sink import MetricSink, Sample

if TYPE_CHECKING:
    from heronpy.plugins.metrics.exposition import Endpoint

log = logging.getLogger(__name__)

PORTS = 65535


class Prometheus(MetricSink):
    """Counters are heronpy_<name>_total, gauges heronpy_<name>, the user's own heronpy_custom{metric="…"}.

    Bound to 127.0.0.1. `plugins.prometheus.port` is a base to which the container's number is added, so that
    the containers of one machine do not clash; without it each takes a free port. The address is written to
    `prometheus-<k>.url`.
    """

    name: ClassVar[str] = "prometheus"

    @override
    @classmethod
    def preflight(cls, config: Config, containers: Sequence[int], *, here: bool) -> None:
        for port in [_port(config, container) for container in sorted(containers, reverse=True)]:
            if here:
                _endpoint(port).close()

    @override
    def initialize(self, config: Config, topology: str, container: int, folder: str) -> None:
        self._endpoint = _endpoint(_port(config, container))
        self._address = Path(folder) / f"prometheus-{container}.url"
        try:
            with open(self._address, "w", opener=private) as file:
                file.write(f"{self._endpoint.url}\n")
        except OSError as error:
            log.warning("cannot write %s (%s); metrics are at %s", self._address, error, self._endpoint.url)

    @override
    def write(self, at: float, samples: Sequence[Sample]) -> None:
        self._endpoint.show(tuple(samples))

    @override
    def close(self) -> None:
        self._endpoint.close()
        self._address.unlink(missing_ok=True)


def _port(config: Config, container: int) -> int:
    settings = config.plugin(Prometheus.name)
    if unknown := sorted(settings.keys() - {"port"}):
        msg = f"the metric sink 'prometheus' has no setting plugins.prometheus.{unknown[0]}"
        raise ConfigError(msg, hint="--set plugins.prometheus.port=9400")
    base = settings.get("port", 0)
    try:
        port = int(base)
    except (TypeError, ValueError):
        port = -1
    wanted = port + container if port else 0
    if port < 0 or wanted > PORTS:
        msg = f"plugins.prometheus.port must be from 0 to {PORTS - container}, got {base!r}"
        raise ConfigError(msg, hint="set it to 0 for any free port")
    return wanted


def _endpoint(port: int) -> Endpoint:
    # Imported only when used: the library takes a tenth of a second to import.
    try:
        from heronpy.plugins.metrics.exposition import HOST, Endpoint
    except ModuleNotFoundError as error:
        msg = f"the metric sink 'prometheus' needs a library that is not installed: {error.name}"
        raise PluginError(msg, hint="pip install 'heron-py[prometheus]'") from error
    try:
        return Endpoint(port)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        msg = f"cannot serve metrics on {HOST} port {port}: {error.strerror}"
        raise PluginError(msg, hint="set another plugins.prometheus.port, or 0 for any free one") from error
