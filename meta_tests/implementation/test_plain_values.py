"""Test that what a backend states is copied once, and that no object of its own answers questions about it."""

from itertools import repeat
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.implementation.backend import build_backend
from spec_tests.implementation.lookup import BackendError
from spec_tests.implementation.plain_values import NestedTooDeep, copy_plain
from spec_tests.importers._imported import MAX_DTYPES, Imported


def lie(*_: Any) -> Any:
    raise AssertionError("a method of the backend's class was called")


METHODS = (
    "__contains__",
    "__iter__",
    "__len__",
    "__getitem__",
    "__eq__",
    "__str__",
    "__repr__",
    "__bool__",
    "items",
    "keys",
    "get",
)
METHODS += ("__int__", "__float__", "__index__", "__lt__", "values", "copy", "__reduce_ex__", "__getattribute__")
VALUES = ("text", 3, 2.5, {"a": 1}, [1, 2], (1, 2), {1, 2}, frozenset((1, 2)))


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_derived_object_is_copied_without_asking_it(value: Any) -> None:
    base = type(value)
    lying = type("Lying", (base,), dict.fromkeys(METHODS, lie) | {"__hash__": base.__hash__})
    made = base.__new__(lying, value) if base in (str, int, float, tuple, frozenset) else fill(lying, value)
    plain = copy_plain({"outer": [made]})
    assert type(plain["outer"][0]) is base
    assert plain == {"outer": [value]}


def fill(lying: Any, value: Any) -> Any:
    """Return an object of a derived mutable class, filled by the methods of its base."""
    made = type(value).__new__(lying)
    type(value).__init__(made, value)
    return made


def test_what_is_plain_stays_equal() -> None:
    stated = {"rms_norm": {"d": [64, 128], "eps": (1e-6, 1.0), "dtype": ("float32",), "mask": None, "n": range(3), "x": True}}
    assert copy_plain(stated) == stated
    assert copy_plain(stated) is not stated


def test_a_claim_that_changes_is_read_once() -> None:
    class Changing(tuple):
        answers = 0

        def __contains__(self, item: object) -> bool:
            Changing.answers += 1
            return True

    stated = {"relu": {"dtype": Changing(("float32",))}}
    source = SimpleNamespace(name="mine", framework="numpy", dtypes=Changing(("float32",)), domain=stated, relu=np.abs)
    backend = build_backend(source, {"relu"})
    stated["relu"]["dtype"] = ("float64",)
    assert (backend.dtypes, backend.domain) == (("float32",), {"relu": {"dtype": ("float32",)}})
    assert all(type(x) is tuple for x in (backend.dtypes, backend.domain["relu"]["dtype"]))
    assert Changing.answers == 0


def test_a_container_in_itself_is_refused_in_a_sentence() -> None:
    domain: dict[str, Any] = {}
    domain["relu"] = [domain]
    with pytest.raises(NestedTooDeep):
        copy_plain(domain)
    source = SimpleNamespace(name="mine", framework="numpy", dtypes=("float32",), domain=domain, relu=np.abs)
    with pytest.raises(BackendError, match=r"its `domain` cannot be read: it contains itself, or has more than \d+ levels"):
        build_backend(source, {"relu"})


def test_dtypes_without_end_are_read_to_a_limit() -> None:
    assert len(Imported(SimpleNamespace(dtypes=repeat("float32")), "a file").dtypes) == MAX_DTYPES


def endless(*_: Any) -> Any:
    return repeat("relu")


OF_ANOTHER_KIND = (
    ("dtypes", 3, "its `dtypes` is 3; give a tuple"),
    ("dtypes", repeat("float32"), "its `dtypes` is of the class repeat; give a tuple"),
    ("domain", ["relu"], r"its `domain` is \['relu'\]; give a dict of restrictions"),
    ("domain", {"relu": 3}, "its domain of relu is 3; give a dict of restrictions"),
    ("conventions", ["relu"], r"its `conventions` is \['relu'\]; give a dict of values"),
    ("absence_hints", 3, "its `absence_hints` is 3; an importer states it; give it another name"),
    ("renamed_operations", {"relu": 3}, "its renamed_operations of relu is 3; an importer states it"),
)


@pytest.mark.parametrize(("name", "stated", "complaint"), OF_ANOTHER_KIND)
def test_a_statement_of_another_kind_is_refused_in_a_sentence(name: str, stated: Any, complaint: str) -> None:
    source = SimpleNamespace(**{"name": "mine", "framework": "numpy", "dtypes": ("float32",), "relu": np.abs, name: stated})
    with pytest.raises(BackendError, match=complaint):
        build_backend(source, {"relu"})


def test_an_importer_asks_no_derived_dict() -> None:
    lying = type("Lying", (dict,), dict.fromkeys(("__iter__", "keys", "items", "get"), endless))
    source = SimpleNamespace(domain=lying(relu=lying(empty=False)), conventions=lying(gelu="tanh"))
    imported = Imported(source, "a file")
    imported.add("relu", np.abs, "a function")
    assert (imported.domain, imported.conventions) == ({"relu": {"empty": False}}, {"gelu": "tanh"})
