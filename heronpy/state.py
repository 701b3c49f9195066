"""The mappings that components keep their state in, and how a stateful component receives its mapping."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from heronpy.errors import DefinitionError


class State:
    """The mapping that a stateful component receives."""

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a key."""
        raise NotImplementedError

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key, or the default."""
        raise NotImplementedError

    def enumerate(self) -> Iterator[tuple[int, Any]]:
        """The keys, numbered."""
        raise NotImplementedError

    def clear(self) -> None:
        """Remove all keys."""
        raise NotImplementedError


class HashMapState(State, MutableMapping[Any, Any]):
    """State in memory; also usable as a dict."""

    def __init__(self) -> None:
        self._dict: dict[Any, Any] = {}

    def put(self, key: Any, value: Any) -> None:
        self._dict[key] = value

    def get(self, key: Any, default: Any = None) -> Any:
        return self._dict.get(key, default)

    def enumerate(self) -> Iterator[tuple[int, Any]]:
        return enumerate(self._dict)

    def clear(self) -> None:
        self._dict.clear()

    def __getitem__(self, key: Any) -> Any:
        return self._dict[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._dict[key] = value

    def __delitem__(self, key: Any) -> None:
        del self._dict[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def table(self, name: str, /, *, keys: Any = None, **values: Any) -> Any:
        """A table of numbers by key, for whole columns of keys: `table("counts", count="int64")`.

        `keys` is their Schema; without it they are as in the streams that the component groups by key.
        """
        del keys, values
        msg = f"table {name!r} lies by key, and this component reads nothing by fields grouping"
        raise DefinitionError(msg, hint="inputs={spec: Grouping.fields('name')}")

    def popitem(self) -> tuple[Any, Any]:
        """Remove the newest entry. The inherited method removes the oldest, which a dict finds slowly."""
        return self._dict.popitem()

    def __repr__(self) -> str:
        return repr(self._dict)


class StatefulComponent:
    """Mixin for a spout or bolt whose state the engine saves as a whole, per task."""

    #: set it when the keys of the state are those of the fields grouping: keys of other tasks are refused
    keyed = False

    def init_state(self, stateful_state: State) -> None:
        """Called before initialize with the last saved state, or an empty one. Keep the reference."""

    def pre_save(self, checkpoint_id: str) -> None:
        """Called before the state is saved: put everything into it that has to be saved."""


class KeepsNotes:
    """Mixin for a component that saves, beside its state, what its task alone knows and no other needs."""

    def notes(self) -> object:
        """What the same task is to begin with after a crash; None: nothing."""
        raise NotImplementedError

    def init_notes(self, notes: object) -> None:
        """Called before initialize with the last saved notes, if there are any."""
        raise NotImplementedError


def state_is_by_task(cls: type[Any]) -> bool:
    """Whether a class wants a state for each task, though its tuples may come by key."""
    return issubclass(cls, StatefulComponent) and cls.keyed is not True


def give_state(component: Any, open_state: Callable[[], State]) -> None:
    """Hand a stateful component its state, before initialize; others get theirs at the first `self.state`."""
    if isinstance(component, StatefulComponent):
        state = vars(component)["state"] = open_state()
        component.init_state(state)
