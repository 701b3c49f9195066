"""How the topology of streamlets runs."""

from __future__ import annotations

from typing import Any

from heronpy.constants import (
    TOPOLOGY_CONTAINER_CPU_REQUESTED,
    TOPOLOGY_CONTAINER_RAM_REQUESTED,
    TOPOLOGY_RELIABILITY_MODE,
    TOPOLOGY_STMGRS,
    TopologyReliabilityMode,
)
from heronpy.streamlet.impl.checks import refuse_unless
from heronpy.streamlet.resources import Resources


class Config:
    """Delivery semantics, containers and settings of one's own; or a dict with keys of `api_constants`."""

    ATMOST_ONCE = 1
    ATLEAST_ONCE = 2
    EFFECTIVELY_ONCE = 3

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        refuse_unless(config is None or isinstance(config, dict), f"Config takes a dict, not {config!r}")
        self._api_config: dict[str, Any] = {} if config is None else config

    def set_delivery_semantics(self, semantics: int) -> None:
        """ATMOST_ONCE, as without it; ATLEAST_ONCE; EFFECTIVELY_ONCE."""
        modes = {
            Config.ATMOST_ONCE: TopologyReliabilityMode.ATMOST_ONCE,
            Config.ATLEAST_ONCE: TopologyReliabilityMode.ATLEAST_ONCE,
            Config.EFFECTIVELY_ONCE: TopologyReliabilityMode.EFFECTIVELY_ONCE,
        }
        refuse_unless(
            semantics in modes,
            f"the delivery semantics {semantics!r} are not known",
            hint="Config.ATMOST_ONCE, Config.ATLEAST_ONCE or Config.EFFECTIVELY_ONCE",
        )
        self._api_config[TOPOLOGY_RELIABILITY_MODE] = modes[semantics]

    def set_num_containers(self, ncontainers: int) -> None:
        self._api_config[TOPOLOGY_STMGRS] = int(ncontainers)

    def set_container_resources(self, resources: Resources) -> None:
        refuse_unless(isinstance(resources, Resources), f"no Resources: {resources!r}")
        self._api_config[TOPOLOGY_CONTAINER_CPU_REQUESTED] = resources.get_cpu()
        self._api_config[TOPOLOGY_CONTAINER_RAM_REQUESTED] = resources.get_ram()

    def set_user_config(self, key: str, value: Any) -> None:
        """A setting of one's own, which `context.get_config()` has."""
        self._api_config[key] = value
