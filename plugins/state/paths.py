"""The grammar of node paths."""

from __future__ import annotations

from heronpy.kernel.errors import StateError
from heronpy.kernel.names import NAME

Segments = tuple[str, ...]


def is_node_path(path: str) -> bool:
    """Whether it is the path of a node below the root."""
    return path.startswith("/") and all(NAME.fullmatch(segment) for segment in path[1:].split("/"))


def segments_of(path: str) -> Segments:
    """("a", "b") for "/a/b" and () for "/"; anything else is refused before a file is touched."""
    if path == "/":
        return ()
    if is_node_path(path):
        return tuple(path[1:].split("/"))
    msg = f"{path!r} is not a state path: use names of letters, digits, '_', '-' or '.' after '/', as in /a/b"
    raise StateError(msg)


def path_of(segments: Segments) -> str:
    """ "/a/b" for ("a", "b"); undoes segments_of()."""
    return "/" + "/".join(segments)


def node_segments_of(path: str) -> Segments:
    """The segments of a path that can hold a value, which "/" cannot."""
    segments = segments_of(path)
    if not segments:
        msg = "the root '/' holds no value and cannot be deleted: name a node below it"
        raise StateError(msg)
    return segments
