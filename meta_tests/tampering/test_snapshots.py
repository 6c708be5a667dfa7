"""A snapshot finds each replacement in each kind of container, puts it back, and says nothing of what counts for nothing."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.tampering.snapshot import CHECKS_OF_VALUES, Snapshot, make_container


def make_module() -> ModuleType:
    module = ModuleType("judge")
    vars(module).update(limit=1, law=lambda: "right")
    return module


class Plain:
    rule = staticmethod(len)
    note = 1

    def __init__(self, value: int = 0) -> None:
        self.value = value


class Looser(Plain):
    rule = staticmethod(id)


class OfAModule(ModuleType):
    pass


class Slots:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 1.5


def changing(default: int = 1) -> int:
    return default


class Case:
    """A container, how it is changed, and what must be told."""

    def __init__(self, owner: Any, keys: Any, change: Callable[[Any], None], told: list[str], *, is_closed: bool = False) -> None:
        self.owner, self.keys, self.change, self.told, self.is_closed = owner, keys, change, told, is_closed


def cases() -> dict[str, Case]:
    cell = (lambda x: lambda: x)(1).__closure__[0]  # type: ignore[index]

    def change_code(function: Any) -> None:
        function.__code__ = (lambda default=1: 7).__code__

    def change_item(items: tuple[Any, ...]) -> None:
        ctypes.py_object.from_address(id(items) + tuple.__basicsize__).value = "another"

    return {
        "module": Case(make_module(), ("limit", "law"), lambda o: setattr(o, "limit", 2), ["it.limit"]),
        "module, deleted": Case(make_module(), ("limit", "law"), lambda o: delattr(o, "law"), ["it.law"]),
        "module, builtin": Case(make_module(), ("limit",), lambda o: setattr(o, "all", any), ["it.all"]),
        "module, other name": Case(make_module(), ("limit",), lambda o: setattr(o, "cache", {}), []),
        "class": Case(type("Own", (Plain,), {"rule": 1}), ("rule",), lambda o: setattr(o, "rule", 2), ["it.rule"]),
        "class, inherited": Case(type("Own", (Plain,), {"law": 1}), ("law",), lambda o: setattr(o, "rule", 2), ["it.rule"]),
        "class, inherited data": Case(type("Own", (Plain,), {"law": 1}), ("law",), lambda o: setattr(o, "note", 2), []),
        "class, other name": Case(type("Own", (Plain,), {"rule": 1}), ("rule",), lambda o: setattr(o, "cache", 2), []),
        "instance": Case(SimpleNamespace(a=1, b=2), ("a", "b"), lambda o: setattr(o, "b", 3), ["it.b"]),
        "slots": Case(Slots(), ("value",), lambda o: setattr(o, "value", 2.5), ["it"]),
        "dict": Case({"a": 1, "b": 2}, ("a", "b"), lambda o: o.update(a=9), ["it['a']"]),
        "closed dict": Case({"a": 1}, ("a",), lambda o: o.update(new=9), ["it['new']"], is_closed=True),
        "open dict": Case({"a": 1}, ("a",), lambda o: o.update(new=9), []),
        "proxy": Case(MappingProxyType({"a": 1}), ("a",), lambda o: _dict_of(o).update(a=2), ["it['a']"]),
        "list": Case([1, 2], (), lambda o: o.append(3), ["it"]),
        "list, replaced": Case([1, 2], (), lambda o: o.__setitem__(0, 5), ["it"]),
        "set": Case({1, 2}, (), lambda o: o.discard(1), ["it"]),
        "tuple": Case(("first", [2]), (), change_item, ["it"]),
        "instance, class": Case(Plain(1), ("value",), lambda o: object.__setattr__(o, "__class__", Looser), ["it"]),
        "module, class": Case(make_module(), ("limit",), lambda o: setattr(o, "__class__", OfAModule), ["it"]),
        "class, bases": Case(type("Own", (Plain,), {"law": 1}), ("law",), lambda o: setattr(o, "__bases__", (Looser,)), ["it"]),
        "function": Case(changing, (), change_code, ["it"]),
        "function, default": Case(changing, (), lambda o: setattr(o, "__defaults__", (5,)), ["it"]),
        "cell": Case(cell, (), lambda o: setattr(o, "cell_contents", 2), ["it"]),
    }


def _dict_of(proxy: Any) -> Any:
    import gc

    return gc.get_referents(proxy)[0]


def read(owner: Any) -> Any:
    """Return what a container holds, for comparison."""
    if callable(owner) and hasattr(owner, "__code__"):
        return owner.__code__, owner.__defaults__
    if hasattr(owner, "cell_contents"):
        return owner.cell_contents
    if isinstance(owner, list | set | dict):
        return owner.copy()
    if isinstance(owner, MappingProxyType):
        return dict(owner)
    if isinstance(owner, tuple):
        return list(owner)
    if isinstance(owner, Slots):
        return owner.value
    of_class = owner.__mro__ if isinstance(owner, type) else type(owner)
    return of_class, {name: value for name, value in vars(owner).items() if not name.startswith("__") and name != "cache"}


@pytest.mark.parametrize("name", cases())
def test_what_is_replaced_in_a_container_is_told_and_put_back(name: str) -> None:
    case = cases()[name]
    container = make_container("it", case.owner, case.keys, is_closed=case.is_closed)
    beside = make_container("beside", {"x": 1, "y": 2}, ("x", "y"))
    assert container is not None
    assert beside is not None
    snapshot, before = Snapshot([beside, container]), read(case.owner)
    assert snapshot.restore() == []
    case.change(case.owner)
    assert snapshot.restore() == case.told
    if case.told:
        assert read(case.owner) == before
    assert not any(snapshot.restore() for _ in range(CHECKS_OF_VALUES + 1))


def test_a_value_is_compared_by_identity() -> None:
    first, equal = [1], [1]
    owner = {"a": first}
    snapshot = Snapshot(filter(None, [make_container("it", owner, owner)]))
    owner["a"] = equal
    assert snapshot.restore() == ["it['a']"]
    assert owner["a"] is first


@pytest.mark.parametrize("value", [1e300, 70_000, "a text of the test", b"bytes of the test", (1, (2.5e300, "inside"))], ids=str)
def test_a_constant_that_is_changed_in_place_is_told(value: Any) -> None:
    """It is the same object. What ctypes writes is its last byte but one, which belongs to the value."""
    changed = value[1][0] if isinstance(value, tuple) else value
    size = len(changed) if isinstance(changed, str | bytes) else 4
    owner = {"a": value}
    snapshot = Snapshot(filter(None, [make_container("it", owner, owner)]))
    place = id(changed) + sys.getsizeof(changed) - isinstance(changed, str | bytes) - size
    before = ctypes.string_at(place, size)
    ctypes.memmove(place, b"\1" * size, size)
    assert snapshot.restore() == ["it['a']"]
    assert snapshot.restore() == ([] if isinstance(changed, float) else ["it['a']"])
    ctypes.memmove(place, before, size)
    assert snapshot.restore() == []


def test_numbers_in_the_code_of_a_function_are_compared_by_value() -> None:
    namespace: dict[str, Any] = {}
    exec("def law():\n    return lambda: 0.1234375", namespace)
    snapshot = Snapshot(filter(None, [make_container("law", namespace["law"])]))
    number = namespace["law"]()()
    ctypes.c_double.from_address(id(number) + sys.getsizeof(number) - 8).value = 9.0
    assert snapshot.restore() == ["law"]
    assert namespace["law"]()() == 0.1234375


def test_arrays_are_compared_by_their_bytes() -> None:
    array = np.arange(4.0)
    array.setflags(write=False)
    snapshot = Snapshot((), {"the table": array})
    assert snapshot.restore() == []
    array.flags.writeable = True
    array[2] = 2.0000001
    assert snapshot.restore() == ["the table"]
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0]
    array[0] = -0.0
    assert snapshot.restore() == ["the table"]
    assert not np.signbit(array[0])


def test_several_changes_are_all_told() -> None:
    first, second = {"a": 1, "b": 2}, {"c": 3}
    snapshot = Snapshot(filter(None, [make_container("first", first, first), make_container("second", second, second)]))
    first.update(a=5, b=6)
    del second["c"]
    assert snapshot.restore() == ["first['a']", "first['b']", "second['c']"]
    assert (first, second) == ({"a": 1, "b": 2}, {"c": 3})


def test_an_extended_snapshot_watches_more_and_takes_what_it_watched_as_it_is_now() -> None:
    first, second, function = {"a": float("1.5")}, {"c": 3}, lambda: 1
    snapshot = Snapshot(filter(None, [make_container("first", first, first)]))
    first["a"] = float("2.5")
    array = np.zeros(2)
    more = make_container("second", second, second), make_container("function", function)
    snapshot.extend(filter(None, more), {"the table": array})
    assert snapshot.restore() == []
    first["a"], second["c"], array[0] = 1.5, 4, 1.0
    function.__code__ = (lambda: 2).__code__
    assert snapshot.restore() == ["the table", "first['a']", "second['c']", "function"]
    assert (first, second, array.tolist()) == ({"a": 2.5}, {"c": 3}, [0.0, 0.0])
    number = first["a"]
    ctypes.c_double.from_address(id(number) + sys.getsizeof(number) - 8).value = 9.0
    assert snapshot.restore() == ["first['a']"]


def test_there_is_no_container_of_nothing() -> None:
    assert make_container("it", make_module(), ("absent",)) is None
    container = make_container("it", {"a": 1, "b": 2}, ("a",))
    assert container is not None
    assert container.known_keys == {"a", "b"}
