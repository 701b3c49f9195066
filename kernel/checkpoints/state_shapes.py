"""Whether the steps of a pipeline can go on with the state that other steps, or older code, have saved."""

from __future__ import annotations

from collections.abc import Mapping

from heronpy.kernel.errors import did_you_mean
from heronpy.kernel.plans.logical import StateShape


def reshaped(before: Mapping[str, StateShape], now: Mapping[str, StateShape]) -> str:
    """Why state that was saved with these shapes cannot be used; empty if it can.

    A field that is new and has a default is the one change that old state allows. A step that is alone in its
    stage keeps its state in another form than several that share their keys.
    """
    if len(before) == 1 and len(now) > 1 and before.keys() <= now.keys():
        (step,) = before
        others = ", ".join(repr(other) for other in now if other != step)
        return (
            f"state of step {step!r} alone, and now {others} reads by the same key_by: give it one of its own"
        )
    for step, old in before.items():
        new = now.get(step)
        if new is None:
            return f"state of step {step!r}, which the pipeline does not have{did_you_mean(step, now)}"
        if reason := _difference(old, new):
            return f"state of step {step!r} {reason}"
    return ""


def _difference(old: StateShape, new: StateShape) -> str:
    if old.kind != new.kind:
        return f"by {old.kind}, and now it is {new.kind}"
    for field, kind in old.fields.items():
        if field not in new.fields:
            near = did_you_mean(field, new.fields)
            return f"with the field {field!r} of {new.kind}, which the class no longer has{near}"
        if new.fields[field] != kind:
            return f"with the field {field!r} of {new.kind} as {kind}, and now it is {new.fields[field]}"
    for field in new.fields:
        if field not in old.fields and field not in new.defaults:
            return f"without the field {field!r} of {new.kind}, which has no default"
    if new.ordered and (late := _not_last(old, new)):
        return f"without the field {late!r} of {new.kind}: a new field of this class must be its last"
    return ""


def _not_last(old: StateShape, new: StateShape) -> str:
    """The first field that has taken the place of another."""
    pairs = zip(old.fields, new.fields, strict=False)
    return next((now for before, now in pairs if before != now), "")
