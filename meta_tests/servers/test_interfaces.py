"""Test that what `spec-tests describe` says of an operation fits every request, the published ones and drawn ones."""

import json
import random
import re
from contextlib import suppress
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest

from spec_tests.calls.gradient import Gradient
from spec_tests.calls.operation import Operation
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.commands import main
from spec_tests.implementation.backend import Backend, validate
from spec_tests.inputs.chosen_draw import draw_small_call
from spec_tests.processes.description import Description, Signature
from spec_tests.processes.message import DTYPES, ProcessArray, format_keyword, read_header, read_length
from spec_tests.processes.server_backend import ServerFramework, ServerSource
from spec_tests.servers.description import describe_as_json
from spec_tests.servers.interface import BROADCASTABLE, Array, Interface, interface
from spec_tests.specification.registry import gradients, operations, specification

from ..support.paths import DOCS
from ..support.rotation import rotate

PROTOCOL = DOCS / "protocol"
NAMES = (*operations(), *gradients())
REQUESTS = [entry for entry in json.loads((PROTOCOL / "messages.json").read_text())["requests"] if "arrays" in entry]
CASES = [
    (name, dtype)
    for name in NAMES
    for dtype in ("float16", "float64")
    if dtype in (specification(name).declaration.dtypes or (dtype,))
]
DRAWN = 8
INTEGER = "int32"  # in which the server takes integers
CODES = {"int8", "uint8", "float16", "float32", "bfloat16"}


def test_all_is_described_as_the_schema_says() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((PROTOCOL / "operations.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    said = json.loads(json.dumps(describe_as_json([interface(name) for name in NAMES])))
    jsonschema.Draft202012Validator(schema).validate(said)
    assert [*said["operations"]] == [*NAMES]


def find_misfits(
    said: Interface, keywords: dict[str, str], arrays: dict[str, tuple[str, tuple[int, ...]]], dtype: str
) -> list[str]:
    """Return what of a request is not as the interface says. `arrays` has the dtype and the shape of each."""
    described = {array.name: array for array in said.arrays}
    named = {re.sub(r"\.\d+(?=\.|$)", ".N", name) if not name.startswith("cotangent") else name: x for name, x in arrays.items()}
    misfits = [f"{name} is not described" for name in named if name not in described]
    misfits += [
        f"{array.name} is missing"
        for array in said.arrays
        if not array.optional and array.name not in named and ".N." not in array.name
    ]
    misfits += [f"the keyword {name} is not described" for name in keywords if name not in {each.name for each in said.keywords}]
    for each in said.keywords:
        if each.values and each.name in keywords and keywords[each.name] not in map(format_keyword, each.values):
            misfits.append(f"{each.name} is {keywords[each.name]}")
    for name, (stored, shape) in named.items():
        if name in described:
            if stored not in allowed_dtypes(described[name], dtype):
                misfits.append(f"{name} is {stored}")
            if described[name].shape and not any(fits(shape, axes) for axes in described[name].shape):
                misfits.append(f"{name} has the shape {shape}")
    return misfits


def allowed_dtypes(array: Array, dtype: str) -> set[str]:
    if array.dtype == "format":
        return {*CODES, dtype}
    wide = dtype if dtype == "float64" else "float32"
    return {{"floating": dtype, "at_least_float32": wide, "integer": INTEGER}.get(array.dtype, array.dtype)}


def fits(shape: tuple[int, ...], axes: tuple[str, ...]) -> bool:
    """Whether a shape has axes of this number, and of the lengths that are given as numbers."""
    if axes[:1] == (BROADCASTABLE,):
        return len(shape) <= len(axes) - 1 or "..." in axes
    named = [axis for axis in axes if axis != "..."]
    known = zip(reversed(shape), reversed(named), strict=False)
    is_long_enough = len(shape) >= len(named) if "..." in axes else len(shape) == len(named)
    return is_long_enough and all(length == int(axis) for length, axis in known if axis.isdigit())


@pytest.mark.parametrize("entry", REQUESTS, ids=lambda entry: entry["file"])
def test_a_published_request_is_as_described(entry: dict[str, Any]) -> None:
    data = (PROTOCOL / "messages" / entry["file"]).read_bytes()
    header = read_header(data[8 : 8 + read_length(data[:8])])
    arrays = {name: (dtype, tuple(shape)) for name, (dtype, shape, _) in header.entries.items()}
    keywords = {name: text for name, text in header.metadata.items() if name not in ("request", "operation")}
    said = interface(header.metadata["operation"])
    floating = next((dtype for dtype, _ in arrays.values() if dtype.startswith(("f", "b")) and dtype != "bool"), "float32")
    taken = {name: (INTEGER if dtype == "int64" else dtype, shape) for name, (dtype, shape) in arrays.items()}
    assert find_misfits(said, keywords, taken, floating) == []
    answered = {name: DTYPES[array[0]] for name, array in entry["arrays"].items()}
    expected = {array.name: array for array in said.results}
    assert answered.keys() <= expected.keys()
    assert all(dtype in allowed_dtypes(expected[name], floating) for name, dtype in answered.items())


def build_server(dtype: str) -> Backend:
    """Return a backend as that of a server that takes everything that is described."""
    signatures = {name: Signature(*list_names(interface(name))) for name in NAMES}
    weights = {name: {"weights": specification(name).declaration.optional_weights} for name in operations()}
    stated = {"domain": {name: entry for name, entry in weights.items() if entry["weights"]}}
    description = Description("all", "1", "", (dtype,), INTEGER, signatures, stated)
    command = SimpleNamespace(name="all", file=None, shell_text="")
    connection: Any = SimpleNamespace(command=command)
    framework = ServerFramework(connection, description)
    return validate(Backend("all", ServerSource(connection, description, NAMES), framework, "process:all"), operations())


def list_names(said: Interface) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the arrays, the optional arrays and the keywords, as a server's description names them."""
    optional_inside = {array.name for array in said.arrays if array.optional and "." in array.name}
    roots = dict.fromkeys(array.name.partition(".")[0] for array in said.arrays)
    optional = {array.name for array in said.arrays if array.optional} - optional_inside
    keywords = tuple(keyword.name for keyword in said.keywords)
    return tuple(x for x in roots if x not in optional), tuple(x for x in roots if x in optional), keywords


@pytest.mark.parametrize(("name", "dtype"), rotate(CASES, 6))
def test_drawn_requests_are_as_described(name: str, dtype: str) -> None:
    backend, spec, said = build_server(dtype), specification(name), interface(name)
    operation = (Gradient if spec.is_gradient else Operation)(spec, backend, dtype, spec.precision)
    seen = 0
    for number in range(DRAWN):
        with suppress(NotImplementedVariant):
            call = draw_small_call(operation, random.Random(number), all_arguments=number % 2 == 0)
            arrays, keywords = operation.native(call)
            metadata, sent = backend.function(name).build_request(arrays, keywords)
            del metadata["request"], metadata["operation"]
            found = {path: (x.dtype, x.shape) for path, x in sent.items() if isinstance(x, ProcessArray)}
            assert find_misfits(said, metadata, found, dtype) == []
            seen += 1
    assert seen


@pytest.mark.parametrize(
    ("change", "misfit"),
    [
        ({"x": ("float64", (2, 4))}, "x is float64"),
        ({"x": ("float32", (2, 4)), "y": ("float32", ())}, "y is not described"),
        ({"weight": ("float32", (2, 4))}, "weight has the shape (2, 4)"),
    ],
)
def test_a_request_that_does_not_fit_is_found(change: dict[str, Any], misfit: str) -> None:
    right = {"x": ("float32", (2, 4)), "weight": ("float32", (4,))}
    assert find_misfits(interface("rms_norm"), {"eps": "1e-5"}, right, "float32") == []
    assert find_misfits(interface("rms_norm"), {}, {**right, **change}, "float32") == [misfit]
    assert find_misfits(interface("rms_norm"), {"slope": "1"}, {"x": right["x"]}, "float32")[0] == "weight is missing"


@pytest.mark.parametrize("name", [name for name in operations() if specification(name).declaration.optional_weights])
def test_all_optional_weights_are_described(name: str) -> None:
    found = {array.name.rpartition(".")[2] for array in interface(name).arrays if array.optional}
    assert found >= {*specification(name).declaration.optional_weights}


def test_the_default_and_the_values_of_a_keyword_are_those_of_the_equation() -> None:
    (layout,) = [keyword for keyword in interface("rope").keywords if keyword.name == "layout"]
    assert (layout.default, layout.values, layout.required) == ("interleaved", ("interleaved", "half"), False)
    assert all(keyword.example is not None for name in NAMES for keyword in interface(name).keywords if keyword.required)


def test_the_command_prints_a_line_for_each_array_and_keyword(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "rms_norm"]) == 0
    shown = capsys.readouterr().out
    page = (DOCS / "protocol.md").read_text().partition("$ spec-tests describe rms_norm\n")[2].partition("\n\n")[0]
    assert shown == dedent(page) + "\n"
    assert main(["describe", "softmax_vjp"]) == 0
    assert "    cotangent  floating, (...)" in capsys.readouterr().out.splitlines()
    assert main(["describe", "--json", "relu"]) == 0
    assert [*json.loads(capsys.readouterr().out)["operations"]] == ["relu"]


def test_a_misspelt_operation_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["describe", "rmsnorm"])
    assert end.value.code == 4
    assert "there is no operation 'rmsnorm'; did you mean rms_norm" in capsys.readouterr().err
