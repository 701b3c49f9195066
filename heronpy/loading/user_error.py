"""Turns an exception of the user's code into one line that names the user's line, never the engine's."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from types import FrameType, TracebackType

import msgspec

from heronpy.kernel.errors import UserError
from heronpy.kernel.plans import Source
from heronpy.tuple import Tuple, missing_field

#: modules whose frames are the engine's or the interpreter's, not the user's
_ENGINE = ("heronpy", "importlib", "runpy")


class UserFailure(msgspec.Struct, frozen=True):
    """What went wrong in the user's code."""

    #: one line: "ValueError: … (wordcount.py:12 in process)"
    summary: str
    #: the user's line, "" and 0 when there is none
    file: str
    line: int
    #: the whole story without the engine's frames
    traceback: str
    #: what happened, without the place
    message: str = ""


#: emitting call → what it takes
_TAKES = {
    "emit": "emit() takes a list of values, as in self.emit([1])",
    "emit_many": "emit_many() takes a list of rows, as in self.emit_many([[1], [2]])",
}


def describe_user_error(error: BaseException, source: Source = Source()) -> UserFailure:  # noqa: B008 - immutable
    """The failure, seen from the user's code."""
    _name_fields(error)
    message = _message(error)
    if takes := _TAKES.get(_emitted_no_values(error)):
        message = f"{message}: {takes}"
    file, line, function = _place(error, source)
    where = ""
    if file:
        inside = f" in {function}" if function and function != "<module>" else ""
        where = f" ({os.path.basename(file)}:{line}{inside})"
    if isinstance(error, UserError) and error.placed:
        return UserFailure(message, file, line, error.traceback, message)
    return UserFailure(f"{message}{where}", file, line, _user_traceback(error), message)


def _name_fields(error: BaseException | None) -> None:
    """Where the user asked a tuple for a field it does not have, the error says which ones it has."""
    while error is not None:
        if isinstance(error, AttributeError) and isinstance(error.obj, Tuple) and error.name:
            error.args = (missing_field(error.obj, error.name),)
            # else newer Pythons add a guess of their own
            error.name = None
        error = _before(error)


def _emitted_no_values(error: BaseException) -> str:
    """The name of the call that emitted one value where it takes a list; empty if that is not the error."""
    if not isinstance(error, TypeError) or not str(error).endswith("object is not iterable"):
        return ""
    names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = [str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_tb(error.__traceback__)]
    return names[-1] if names and ours[-1].startswith("heronpy.") else ""


def _before(error: BaseException) -> BaseException | None:
    return error.__cause__ if error.__cause__ is not None else error.__context__


def _message(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"called sys.exit({error.code!r})"
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, SyntaxError):
        code = f": {error.text.strip()}" if error.text else ""
        return f"{type(error).__name__}: {error.msg}{code}"
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = "(its message cannot be shown)"
    if isinstance(error, UserError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _place(error: BaseException, source: Source) -> tuple[str, int, str]:
    """File, line and function: innermost in the user's own folders, else innermost that is not ours."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno or 0, ""
    frames = list(_user_frames(error.__traceback__))
    own = [frame for frame in frames if _is_under(frame[0].f_code.co_filename, source)]
    for frame, line in (own or frames)[-1:]:
        return frame.f_code.co_filename, line, frame.f_code.co_name
    return "", 0, ""


def _is_under(file: str, source: Source) -> bool:
    if "site-packages" in file or file.startswith("<"):
        return False
    return any(
        file.startswith(os.path.join(path, ""))
        for path in (*source.paths, os.path.dirname(source.file))
        if path
    )


def _user_frames(trace: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    for frame, line in traceback.walk_tb(trace):
        module = str(frame.f_globals.get("__name__", ""))
        if module.split(".", 1)[0] not in _ENGINE:
            yield frame, line


def _user_traceback(error: BaseException) -> str:
    """As Python prints it, chained errors included, without the engine's frames where others are left."""
    story = traceback.TracebackException.from_exception(error)
    told: traceback.TracebackException | None = story
    cause: BaseException | None = error
    while told is not None and cause is not None:
        kept = list(_user_frames(cause.__traceback__))
        if kept or isinstance(cause, SyntaxError):
            told.stack = traceback.StackSummary.extract(iter(kept))
        told = told.__cause__ if told.__cause__ is not None else told.__context__
        cause = _before(cause)
    return "".join(story.format())
