"""Topologies: as a class whose body holds specs, or built step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heronpy.arguments import require
from heronpy.component import BaseComponent
from heronpy.constants import DEFAULT_TOPOLOGY_CONFIG, TOPOLOGY_NAME
from heronpy.errors import DefinitionError
from heronpy.kernel.plans import Component
from heronpy.logical_plan import to_component
from heronpy.spec import HeronComponentSpec
from heronpy.stream import Stream
from heronpy.submissions import submissions

#: attributes of a topology class that cannot be components
RESERVED = ("config", "write")


def _refuse_reserved(name: str) -> None:
    if name in RESERVED:
        msg = f"a component cannot be called {name!r}: topologies use that name for something else"
        raise DefinitionError(msg, hint="choose another name")


def _refuse_class(cls: type, attribute: str, value: object) -> None:
    """`count = Count` would be left out in silence; a class that is written in the body is no such slip."""
    if not isinstance(value, type) or not issubclass(value, BaseComponent):
        return
    if not value.__qualname__.endswith(f".{attribute}"):
        msg = f"{attribute!r} of topology {cls.__name__!r} is a class, and not yet a component"
        raise DefinitionError(msg, hint=f"{attribute} = {value.__name__}.spec()")


def _specs_of(cls: type) -> dict[str, HeronComponentSpec]:
    attributes: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        attributes.update(vars(base))
    specs: dict[str, HeronComponentSpec] = {}
    for attribute, spec in attributes.items():
        _refuse_class(cls, attribute, spec)
        if not isinstance(spec, HeronComponentSpec):
            continue
        _refuse_reserved(attribute)
        spec.name = spec.name or attribute
        if spec.name in specs:
            msg = f"topology {cls.__name__!r} has two components called {spec.name!r}"
            raise DefinitionError(msg)
        specs[spec.name] = spec
    return specs


def _config_of(cls: type) -> dict[str, Any]:
    config = getattr(cls, "config", None)
    if config is None:
        return {}
    require(config, dict, f"config of topology {cls.__name__!r} must be a dict")
    return dict(config)


class _ClassBody(dict[str, Any]):
    """The attributes of a topology as they are written, each component once."""

    def __setitem__(self, attribute: str, value: Any) -> None:
        if isinstance(value, HeronComponentSpec) and isinstance(self.get(attribute), HeronComponentSpec):
            msg = f"the component {attribute!r} is written twice: give the second another name"
            raise DefinitionError(msg)
        super().__setitem__(attribute, value)


class TopologyType(type):
    """Turns the specs of a class body into a topology when the class is made."""

    DEFAULT_TOPOLOGY_CONFIG = DEFAULT_TOPOLOGY_CONFIG

    topology_name: str
    _heron_specs: list[HeronComponentSpec]
    _components: tuple[Component, ...]
    _topo_config: dict[str, Any]

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], /, **_: Any) -> _ClassBody:
        return _ClassBody()

    def __init__(cls, name: str, bases: tuple[type, ...], class_dict: dict[str, Any]) -> None:
        super().__init__(name, bases, class_dict)
        specs = _specs_of(cls)
        config = _config_of(cls)
        cls._heron_specs = list(specs.values())
        cls._components = tuple(to_component(spec) for spec in cls._heron_specs)
        cls._topo_config = {**DEFAULT_TOPOLOGY_CONFIG, **config}
        cls.topology_name = str(config.get(TOPOLOGY_NAME, name))


class Topology(metaclass=TopologyType):
    """Subclass it and put specs into the class body; `config = {...}` holds topology-wide settings.

    An attribute's name is the component's name, unless its spec was given one.
    """

    @classmethod
    def write(cls) -> None:
        """Submit this topology, when the file is run by `heronpy submit`."""
        if cls is Topology:
            msg = "Topology itself cannot be submitted: subclass it and put specs into the class body"
            raise DefinitionError(msg)
        submissions.submit(cls)


class TopologyBuilder:
    """Builds a topology step by step: add spouts and bolts, then `build_and_submit()`."""

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name or name == "Topology":
            msg = f"a topology needs a name of its own, got {name!r}"
            raise DefinitionError(msg)
        self.topology_name = name
        self._specs: dict[str, HeronComponentSpec] = {}
        self._topology_config: dict[str, Any] = {}

    def add_spec(self, *specs: HeronComponentSpec) -> None:
        """Add components that `spec(name=…)` made."""
        for spec in specs:
            require(spec, HeronComponentSpec, "add_spec takes what Spout.spec() or Bolt.spec() return")
            if spec.name is None:
                msg = f"{spec.label} needs a name to be added"
                raise DefinitionError(msg, hint="pass a name: spec(name='…')")
            if spec.name in self._specs:
                msg = f"there are two components called {spec.name!r}"
                raise DefinitionError(msg)
            self._specs[spec.name] = spec

    def add_spout(
        self,
        name: str,
        spout_cls: Any,
        par: int,
        config: dict[str, Any] | None = None,
        optional_outputs: Sequence[str | Stream] | None = None,
    ) -> HeronComponentSpec:
        """Add a spout; what is returned goes into the `inputs` of bolts."""
        spec: HeronComponentSpec = spout_cls.spec(
            name=name, par=par, config=config, optional_outputs=optional_outputs
        )
        self.add_spec(spec)
        return spec

    def add_bolt(
        self,
        name: str,
        bolt_cls: Any,
        par: int,
        inputs: Any,
        config: dict[str, Any] | None = None,
        optional_outputs: Sequence[str | Stream] | None = None,
    ) -> HeronComponentSpec:
        """Add a bolt; `inputs` is `{spec: grouping}` or a list of specs (shuffle)."""
        spec: HeronComponentSpec = bolt_cls.spec(
            name=name, inputs=inputs, par=par, config=config, optional_outputs=optional_outputs
        )
        self.add_spec(spec)
        return spec

    def set_config(self, config: dict[str, Any]) -> None:
        """The topology-wide config, in place of what was set before."""
        require(config, dict, "set_config takes a dict")
        self._topology_config = config

    def build(self) -> type[Topology]:
        """Make the topology; tests run it without submitting."""
        made: Any = TopologyType(self.topology_name, (Topology,), self._construct_topo_class_dict())
        topology: type[Topology] = made
        return topology

    def build_and_submit(self) -> None:
        """Make the topology and submit it, when the file is run by `heronpy submit`."""
        self.build().write()

    def _construct_topo_class_dict(self) -> dict[str, Any]:
        # no component is called like an attribute that a topology has
        specs = {f"component {name}": spec for name, spec in self._specs.items()}
        return {**specs, "config": self._topology_config}
