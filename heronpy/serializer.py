"""The interface of serializers for user-defined value types, and the default one."""

from __future__ import annotations

import pickle
from typing import Any


class IHeronSerializer:
    """Turns the values of a tuple into bytes and back; named by `topology.serializer.classname`."""

    def initialize(self, config: dict[str, Any]) -> None:
        """Called once, first, with the component's config."""

    def serialize(self, obj: Any) -> bytes:
        """Encode an object to bytes."""
        msg = f"{type(self).__name__} must define serialize(obj)"
        raise NotImplementedError(msg)

    def deserialize(self, input_str: bytes) -> Any:
        """Decode the bytes of `serialize` to an equal object."""
        msg = f"{type(self).__name__} must define deserialize(bytes)"
        raise NotImplementedError(msg)


class PythonSerializer(IHeronSerializer):
    """Pickles anything, lambdas and classes of the submitted file included."""

    def initialize(self, config: dict[str, Any] | None = None) -> None:
        """No configuration needed."""

    def serialize(self, obj: Any) -> bytes:
        import cloudpickle  # type: ignore[import-untyped]

        pickled: bytes = cloudpickle.dumps(obj)
        return pickled

    def deserialize(self, input_str: bytes) -> Any:
        return pickle.loads(input_str)


default_serializer = PythonSerializer()
