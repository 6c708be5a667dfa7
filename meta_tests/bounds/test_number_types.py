"""The number types have the methods that their protocols list, and the marks of the equations call no others."""

import ast
import inspect

import pytest

from spec_tests.bounds.bounded import Bounded
from spec_tests.bounds.sample import Sample
from spec_tests.deviations._low_precision import LowPrecision
from spec_tests.specification.number_types import ErrorCarryingNumber, NumberType

from ..support.paths import ROOT


def methods(protocol: type) -> set[str]:
    """Return the names of the methods and properties of a protocol and its bases."""
    kinds = (kind for kind in protocol.__mro__ if kind.__module__ == protocol.__module__)
    return {
        name for kind in kinds for name, value in vars(kind).items() if inspect.isfunction(value) or isinstance(value, property)
    }


@pytest.mark.parametrize(
    ("kind", "protocol"), [(Bounded, ErrorCarryingNumber), (Sample, ErrorCarryingNumber), (LowPrecision, NumberType)]
)
def test_a_number_type_has_the_methods_of_its_protocol(kind: type, protocol: type) -> None:
    for name in methods(protocol) - {"__init__", "__subclasshook__"}:
        mine, listed = getattr(kind, name), getattr(protocol, name)
        if inspect.isfunction(listed) and not name.startswith("__"):
            assert list(inspect.signature(mine).parameters) == list(inspect.signature(listed).parameters), (kind, name)


def test_the_marks_ask_for_no_method_that_is_not_listed() -> None:
    tree = ast.parse((ROOT / "reference_numpy" / "_marks.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "hasattr"]
    asked = {node.args[1].value for node in calls if isinstance(node.args[1], ast.Constant)}
    assert len(asked) >= 12
    assert asked - {"__array_ufunc__"} <= methods(ErrorCarryingNumber)
