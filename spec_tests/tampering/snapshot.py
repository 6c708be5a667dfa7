"""A snapshot of many containers: what they hold is compared all at once, and what has changed since is put back.

A container is whatever refers to other objects: a module, a class, an instance, a dict, a list, a set, a function with its code
and its defaults, a tuple, or a cell of a closure.
Contents and the classes of objects are compared by identity, and numbers, texts and arrays by value as well.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter, call, is_, is_not, itemgetter
from types import CellType, FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from .constants import Constants

FUNCTION_PARTS = ("__code__", "__defaults__", "__kwdefaults__")  # the last two only if there are any
BUILTIN_NAMES = frozenset(__builtins__ if isinstance(__builtins__, dict) else vars(__builtins__))
CHECKS_OF_VALUES = 16  # the names of equal values are compared as well in each check of so many
NOT_COMPARED = frozenset(  # entries of classes and modules that decide nothing; some Python adds when they are first asked for
    (
        "__annotate__", "__annotate_func__", "__annotations__", "__annotations_cache__", "__builtins__", "__cached__",
        "__dict__", "__doc__", "__file__", "__loader__", "__name__", "__package__", "__path__", "__signature__", "__spec__",
        "__warningregistry__", "__weakref__", "_abc_impl",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Container:
    """One container, what it holds when this is made, and how that is read and written."""

    name: str  # as a message names it
    owner: Any
    place: Any  # what is read: the owner's dict, or the owner itself
    read: Callable[[Any], Iterable[Any]]  # the values of the keys, and that of the first again, since for one it gave no tuple
    keys: tuple[Any, ...]
    known_keys: frozenset[Any] = frozenset()  # all keys, also those whose values are not compared
    is_closed: bool = False  # whether no further key may be added

    def holds(self, before: tuple[Any, ...]) -> bool:
        """Whether the container is certainly unchanged: it holds the same values, and no key can have been added."""
        if self.is_closed or isinstance(self.owner, ModuleType | type | list | set | tuple):
            return False
        try:
            return all(map(is_, self.read(self.place), before))
        except (KeyError, AttributeError, ValueError):  # a name was deleted, or a cell was emptied
            return False

    def find_changes(self, before: tuple[Any, ...]) -> Iterator[str]:
        """Put back each value that is another one now, and yield its name."""
        if isinstance(self.owner, list | set | tuple):
            if len(self.owner) != len(before) or not all(map(is_, self.owner, before)):
                self._refill(before)
                yield self.name
            return
        for key, value in zip(self.keys, before, strict=False):  # `before` has the first value twice
            if self._get(key) is not value:
                self._set(key, value)
                yield self.name_of(key)
        for key in self._find_additions():
            self._remove(key)
            yield self.name_of(key)

    @property
    def has_attributes(self) -> bool:
        """Whether the values are attributes that stand in no dict, as those of a function and of an object with slots."""
        return self.place is self.owner and not isinstance(self.owner, dict | list | set | tuple | MappingProxyType)

    def _find_additions(self) -> list[Any]:
        """Return the keys that were added: any of a closed container, and what hides a builtin or what a class inherits."""
        if self.has_attributes:
            return []
        added = [key for key in self.place if key not in self.known_keys and key not in NOT_COMPARED]
        if isinstance(self.owner, ModuleType):
            return [key for key in added if key in BUILTIN_NAMES and not key.startswith("__")]
        if isinstance(self.owner, type) and not self.is_closed:
            return [key for key in added if _hides_behaviour(self.owner, key)]
        return added if self.is_closed else []

    def _get(self, key: Any) -> Any:
        if self.has_attributes:
            return getattr(self.owner, key, None)
        return self.place.get(key)

    def _set(self, key: Any, value: Any) -> None:
        if isinstance(self.owner, ModuleType | type) or self.has_attributes:
            setattr(self.owner, key, value)
        else:
            _writable(self.place)[key] = value

    def _refill(self, before: tuple[Any, ...]) -> None:
        """Put back all that a list, a set or a tuple held. A tuple was written to by its address."""
        if isinstance(self.owner, tuple):
            for number, value in enumerate(before):
                ctypes.py_object.from_address(id(self.owner) + tuple.__basicsize__ + number * tuple.__itemsize__).value = value
            return
        self.owner.clear()
        self.owner.extend(before) if isinstance(self.owner, list) else self.owner.update(before)

    def _remove(self, key: Any) -> None:
        if isinstance(self.owner, ModuleType | type):
            delattr(self.owner, key)
        else:
            del _writable(self.place)[key]

    def name_of(self, key: Any) -> str:
        if self.has_attributes:
            return self.name
        return f"{self.name}[{key!r}]" if isinstance(self.owner, dict | MappingProxyType) else f"{self.name}.{key}"


def _hides_behaviour(owner: type, key: str) -> bool:
    """Whether an entry of a class hides an inherited one, and one of the two is called or is a property."""
    hidden = [vars(base)[key] for base in owner.__mro__[1:] if key in vars(base)]
    return any(callable(value) or hasattr(value, "__get__") for value in (*hidden, vars(owner)[key])) if hidden else False


def _writable(mapping: Any) -> Any:
    """Return the dict behind a mapping that cannot be written to, and any other mapping as it is."""
    return next(x for x in gc.get_referents(mapping) if isinstance(x, dict)) if isinstance(mapping, MappingProxyType) else mapping


def make_container(name: str, owner: Any, keys: Iterable[Any] = (), *, is_closed: bool = False) -> Container | None:
    """Return the container of these keys of the owner, or None if there is nothing to compare.

    A list, a set or a tuple has no keys: all that it holds is compared. Of a function, its code and its defaults are.
    """
    if isinstance(owner, list | set | tuple):
        return Container(name, owner, owner, list, ())  # a tuple of a tuple would be the same one
    if isinstance(owner, FunctionType):
        parts = tuple(part for part in FUNCTION_PARTS if getattr(owner, part) is not None)
        return Container(name, owner, owner, attrgetter(*parts, parts[0]), parts)
    if isinstance(owner, CellType):
        return Container(name, owner, owner, attrgetter("cell_contents", "cell_contents"), ("cell_contents",))
    if not hasattr(owner, "__dict__") and not isinstance(owner, dict | MappingProxyType):
        return Container(name, owner, owner, attrgetter(*(keys := tuple(keys)), keys[0]), keys)
    place = owner if isinstance(owner, dict | MappingProxyType) else vars(owner)
    keys = tuple(key for key in keys if key in place)
    if not keys:
        return None
    return Container(name, owner, place, itemgetter(*keys, keys[0]), keys, frozenset(place), is_closed)


class Snapshot:
    """What many containers held when this was made.

    Dicts are read through the garbage collector, which passes over their values in order and looks no key up: this takes a third
    of the time. A comparison that finds a difference is followed by one of the keys that count.
    """

    def __init__(self, containers: Iterable[Container], arrays: dict[str, np.ndarray] | None = None):
        self.containers: list[Container] = []
        self.before: list[tuple[Any, ...]] = []  # what each of them held
        self.constants, self.arrays, self.checks = Constants(), list[tuple[str, np.ndarray, bytes]](), 0
        self.classes, self.bases = list[tuple[Container, type]](), list[tuple[Container, tuple[type, ...]]]()
        self.dicts, self.tuples, self.several = list[Any](), list[tuple[Any, ...]](), list[Container]()
        self.single: dict[str, list[Any]] = {}  # what has one attribute to compare, by its name
        self.extend(containers, arrays)

    def extend(self, containers: Iterable[Container], arrays: dict[str, np.ndarray] | None = None) -> None:
        """Watch these containers as well, and record what is watched already as it is now."""
        again = [tuple(container.read(container.place)) for container in self.containers]
        changed = [number for number, held in enumerate(zip(again, self.before, strict=True)) if any(map(is_not, *held))]
        self.constants.add((self.containers[number], again[number]) for number in changed)
        added = list(containers)
        first = [tuple(container.read(container.place)) for container in added]
        self.constants.add(zip(added, first, strict=True))
        self.constants.record()
        self.containers, self.before = [*self.containers, *added], [*again, *first]
        self.arrays = [(name, array, array.tobytes()) for name, array, _ in self.arrays]
        self.arrays += [(name, array, array.tobytes()) for name, array in (arrays or {}).items()]
        for container in added:
            self._sort_in(container)
        self._arrange()
        self._record()

    def _sort_in(self, container: Container) -> None:
        """Put a container among those that are read in the same way."""
        owner = container.owner
        self.classes.append((container, type(owner)))
        if isinstance(owner, type):
            self.bases.append((container, owner.__bases__))
        if isinstance(container.place, dict | MappingProxyType):
            self.dicts.append(_writable(container.place))
        elif len(container.keys) == 1:  # one attribute is read faster than several
            self.single.setdefault(container.keys[0], []).append(owner)
        elif isinstance(owner, tuple):
            self.tuples.append(owner)
        else:
            self.several.append(container)

    def _arrange(self) -> None:
        """Prepare what reads all containers at once."""
        reads, places = [container.read for container in self.several], [container.place for container in self.several]
        self.parts: list[Callable[[], Iterable[Any]]] = [
            *(partial(map, attrgetter(name), owners) for name, owners in self.single.items()),
            lambda: chain.from_iterable(map(call, reads, places)),
            partial(gc.get_referents, *self.dicts),
            partial(chain.from_iterable, self.tuples),
            partial(map, type, [container.owner for container in self.containers]),
            partial(map, attrgetter("__mro__"), [container.owner for container, _ in self.bases]),
        ]
        self.sized = [*self.dicts, *(container.place for container in self.several if not container.has_attributes)]

    def _record(self) -> None:
        self.recorded = [list(read()) for read in self.parts]
        self.sizes = list(map(len, self.sized))
        self.keys = list(map(tuple, self.dicts))

    def restore(self) -> list[str]:
        """Put back what was replaced, added or removed, and return the names of it."""
        changed = [*self._restore_arrays(), *self.constants.restore()]
        if not self._is_unchanged():
            changed += self._restore_classes()
            for container, before in zip(self.containers, self.before, strict=True):
                if not container.holds(before):
                    changed += container.find_changes(before)
            self._record()  # a module may have grown by names that hide nothing, or hold another value that is not compared
        return list(dict.fromkeys(changed))

    def _is_unchanged(self) -> bool:
        """Whether all is as it was. No loop in Python goes over the values, because there are thousands in each test."""
        self.checks += 1
        try:
            return (
                list(map(len, self.sized)) == self.sizes
                and all(all(map(is_, read(), before)) for read, before in zip(self.parts, self.recorded, strict=True))
                and (self.checks % CHECKS_OF_VALUES != 0 or list(map(tuple, self.dicts)) == self.keys)
            )
        except (KeyError, AttributeError, ValueError):  # a name was deleted, or a cell was emptied
            return False

    def _restore_classes(self) -> Iterator[str]:
        """Give objects their classes back, and classes their bases, and yield the names of those that had others."""
        for container, kind in self.classes:
            if type(container.owner) is not kind:
                object.__setattr__(container.owner, "__class__", kind)
                yield container.name
        for container, bases in self.bases:
            if container.owner.__bases__ != bases:
                container.owner.__bases__ = bases
                yield container.name

    def _restore_arrays(self) -> list[str]:
        changed = []
        for name, array, before in self.arrays:
            if array.tobytes() != before:
                array.setflags(write=True)
                array[...] = np.frombuffer(before, array.dtype).reshape(array.shape)
                changed.append(name)
        return changed
