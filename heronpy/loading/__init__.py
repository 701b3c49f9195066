"""Finds the user's code: topologies for `submit`, classes for an instance, their line in an error."""

from heronpy.loading.file_process import LoadError
from heronpy.loading.hooks import load_auto_hooks
from heronpy.loading.load import load_topologies
from heronpy.loading.user_error import UserFailure, describe_user_error
from heronpy.loading.user_module import import_user_module, prepare_process, resolve_class

__all__ = [
    "LoadError",
    "UserFailure",
    "describe_user_error",
    "import_user_module",
    "load_auto_hooks",
    "load_topologies",
    "prepare_process",
    "resolve_class",
]
