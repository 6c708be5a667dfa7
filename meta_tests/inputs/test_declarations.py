"""What a file of spec_tests/operations/ declares is checked when it is imported, and so are the shapes of the docstring."""

import inspect
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spec_tests.commands.list import KINDS
from spec_tests.specification.declaration import Declaration, DeclarationError
from spec_tests.specification.formats import INTEGER, WIDER
from spec_tests.specification.registry import argument_dimensions, gradients, operations, specification
from spec_tests.specification.shapes import Shape, ShapesError, parse_shapes
from spec_tests.trials.invariant import invariant

LAWS = Path(__file__).with_name("laws.txt")


def scaled(x: Any, weight: Any, offset: Any = None, *, eps: float) -> Any:
    """Return nothing of interest.

    Shapes
        x (..., 2 h d),  weight (d),
        offset broadcastable to (..., d)  ->  (..., d)
    Domain
        x (n, n) is no shape, since it stands in another section.
    """


def draw_nothing(draw: Any) -> Any:
    return (), {}


def declare(**changes: Any) -> Declaration:
    fields = {"equation": scaled, "arguments": draw_nothing, "core": {"x": 1, "offset": 1}}
    return Declaration(**{name: value for name, value in {**fields, **changes}.items() if value is not None})


def with_shapes(text: str) -> Callable[..., Any]:
    def scaled(x: Any, weight: Any, offset: Any = None, *, eps: float) -> Any: ...

    scaled.__doc__ = f"Return.\n\n    Shapes\n        {text}\n    Domain\n        All."
    return scaled


def test_a_declaration_that_fits() -> None:
    assert declare().core == {"x": 1, "offset": 1}
    assert declare().precision == "eager"
    assert not declare().states("composed")
    assert declare(changeable=("eps",)).states("changeable")


SHAPES = {
    "name": "x (..., d), weights (d), weight, offset -> (..., d)",
    "silent": "x (..., d), offset as x -> (..., d)",
    "label": "x (..., d-1), weight, offset -> (..., d)",
    "results": "x (..., d), weight, offset -> y (..., d), z (d)",
}
COMPLAINTS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown field": ({"cores": {"x": 1}}, "there is no field 'cores'; did you mean 'core'?; there are equation, arguments,"),
    "missing field": ({"arguments": None}, "write arguments = …"),
    "core of no argument": (
        {"core": {"x": 1, "offsets": 1}},
        "core names 'offsets', which the equation does not have; did you mean 'offset'?; it has x, weight, offset, eps",
    ),
    "core of another rank": ({"core": {"x": 2, "offset": 1}}, "core has 2 axes of x; its docstring has (2 h d)"),
    "no core": ({"core": {"x": 1}}, "its docstring has a batch before offset: write 'offset': 1 in core"),
    "keyword": ({"changeable": ("epsilon",)}, "changeable names 'epsilon', which the equation does not have"),
    "format of no argument": ({"formats": {"scale": "eps"}}, "formats names 'scale', which the equation does not have"),
    "format of no keyword": ({"formats": {"x": "dtype"}}, "formats names 'dtype', which the equation does not have"),
    "codes of no format": ({"as_codes": ("x",)}, "as_codes names 'x', which formats does not"),
    "choices": ({"choices": {"mode": ("a", "b")}}, "choices names 'mode', which the equation does not have"),
    "updates": ({"updates": ("y",)}, "updates names 'y'"),
    "chooses": ({"chooses": "router"}, "chooses names 'router'"),
    "precision": ({"precision": "fussed"}, "precision = 'fussed' is no class; write one of exact, fused, mixed, eager"),
    "dtype": ({"dtype": "float23"}, "dtype has 'float23'; write one of '', 'wider'"),
    "dtypes": ({"dtypes": ("bool",)}, "dtypes has 'bool'; write one of 'float64'"),
    "results": ({"results": {"y": "half"}}, "results has 'half'"),
    "cost": ({"cost": 0}, "cost = 0 must be larger than 0"),
    "name under Shapes": (
        {"equation": with_shapes(SHAPES["name"]), "core": {"x": 1}},
        "under Shapes, 'weights' is no argument of the equation; did you mean 'weight'?",
    ),
    "silent about an argument": (
        {"equation": with_shapes(SHAPES["silent"]), "core": {"x": 1}},
        "its docstring says nothing of weight under Shapes: write its shape",
    ),
    "no dimension": (
        {"equation": with_shapes(SHAPES["label"]), "core": {"x": 1}},
        "under Shapes, (..., d-1) has 'd-1' where a dimension stands",
    ),
    "names of results": (
        {"equation": with_shapes(SHAPES["results"]), "core": {"x": 1}, "results": {"y": "", "u": ""}},
        "results has y, u; its docstring has y, z after the arrow",
    ),
}


@pytest.mark.parametrize(("changes", "sentence"), COMPLAINTS.values(), ids=COMPLAINTS)
def test_what_does_not_fit_is_an_error_that_says_what_to_write(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DeclarationError) as error:
        declare(**changes)
    assert str(error.value).startswith(f"scaled: {sentence}")


def test_a_law_about_a_field_that_no_declaration_has_is_an_error() -> None:
    with pytest.raises(AssertionError, match="a declaration has no field"):
        invariant("B", needs=("about:not shrot",))


def test_every_operation_has_a_declaration_of_its_equation() -> None:
    for name in operations():
        found = specification(name)
        assert found.declaration.equation is found.reference
        assert found.name == found.declaration.name == name


@pytest.mark.parametrize("name", [*operations(), *gradients()])
def test_the_docstrings_are_written_in_the_grammar(name: str) -> None:
    found = specification(name)
    unknown = found.shapes.arguments.keys() - found.parameters.keys() - found.shapes.entry_of.keys()
    assert unknown == set()
    assert all(argument in found.shapes.words for argument in found.positional)
    if "wrt" in found.parameters:
        return
    for argument, labels in argument_dimensions(found).items():
        known = [labels, *(shape.labels for shape in found.shapes.others.get(argument, ()))]
        assert argument not in found.core or any(found.core[argument] in (len(each), len(each) - 1) for each in known)


def test_the_grammar() -> None:
    found = parse_shapes(
        """Return.

    Shapes
        x (..., 2 h, d),  n queries, m keys (None: n),  mask and bias broadcastable to (..., h, m),  ids (...) integers,
        p (n) or broadcastable to (..., n),  angles (d_k/2),  a (h) or (h, d); weights: w1 (d, h),
        w2 (h) or None; states: a list, each (any shape)  ->  y (..., d), lse (..., h)
    Edges
        z (3, 4) is no shape here.
    """
    )
    assert found.arguments == {
        "x": Shape(("2 h", "d"), batch=True),
        "ids": Shape((), batch=True),
        "p": Shape(("n",)),
        "angles": Shape(("d_k/2",)),
        "a": Shape(("h",)),
        "w1": Shape(("d", "h")),
        "w2": Shape(("h",)),
    }
    assert found.others == {"a": (Shape(("h", "d")),)}
    assert [found.of_rank("a", rank).labels for rank in (1, 2, 3)] == [("h",), ("h", "d"), ("h",)]
    assert found.of_rank("x", 2) == found.arguments["x"]
    assert found.broadcast == {"mask": Shape(("h", "m"), batch=True), "bias": Shape(("h", "m"), batch=True)}
    assert found.entry_of == {"w1": "weights", "w2": "weights"}
    assert found.results == {"y": Shape(("d",), batch=True), "lse": Shape(("h",), batch=True)}
    assert [name for name, shape in found.arguments.items() if not shape.is_plain] == ["angles"]
    assert parse_shapes("Return.\n\n    Shapes\n        x (any shape)  ->  as x").arguments == {"x": Shape((), any=True)}
    assert parse_shapes("Return.").arguments == {}
    with pytest.raises(ShapesError, match="has '' where a dimension stands"):
        parse_shapes("Return.\n\n    Shapes\n        x (d,, h)  ->  as x")


def test_no_operation_loses_a_law_in_silence() -> None:
    """`spec-tests list laws` prints what is in laws.txt, so that a change of the file shows where laws went, or came."""
    assert KINDS["laws"]() + "\n" == LAWS.read_text(encoding="utf-8")


# --- the dtypes of the docstrings ---------------------------------------------------------------------------------------

DTYPE_WORDS = {"": "as the arguments", WIDER: "as the arguments, or float32 or wider", INTEGER: "integers"}


@pytest.mark.parametrize("name", [*operations(), *gradients()])
def test_each_docstring_states_the_dtypes_of_the_results(name: str) -> None:
    results, formats = defaultdict(list), specification(name).declaration.formats
    for result, dtype in specification(name).results.items():
        named = f"of the format that {formats[result]} names" if result in formats else ""
        results[named or DTYPE_WORDS.get(dtype, dtype)].append(result)
    stated = "; ".join(f"{' and '.join(names)} {words}".strip() for words, names in results.items())
    docstring = inspect.getdoc(specification(name).reference) or ""
    assert f"\nDtypes\n    {stated}\n" in docstring
