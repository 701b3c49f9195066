"""Apache Heron's path of `heronpy.serializer`."""

from heronpy.serializer import IHeronSerializer, PythonSerializer, default_serializer

__all__ = ["IHeronSerializer", "PythonSerializer", "default_serializer"]
