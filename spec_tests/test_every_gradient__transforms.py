"""What may hold of every gradient under the transforms of a framework."""

from dataclasses import replace
from typing import Any

import numpy as np

from .calls.call import Call
from .calls.gradient import Gradient
from .calls.violation import NotImplementedVariant, Violation, add_fact
from .helpers.assertions import assert_same
from .implementation.ways_of_calling import TANGENT, VJP
from .inputs.draw import Draw
from .specification.formats import FORMATS, INTEGER, is_floating
from .specification.pytree import leaves, tree_map
from .trials.invariant import invariant

UNIT_ROUNDOFF = FORMATS["float64"].u


@invariant("B", level="transforms", cost=8, needs=("transforms",), dtypes=("float32",), max_examples=2)
def test_transforms(gradient: Gradient, draw: Draw) -> None:
    """The vjp of the framework's transforms gives the gradients that its backward pass gives."""
    call = draw.call()
    if gradient.own:
        raise NotImplementedVariant("its gradients are no framework's", "suite")
    refuse_whole_results(gradient)
    plain = gradient.result(call)
    with add_fact("state", VJP):
        assert_same(gradient.values(call, gradient.run(call, gradient.native(call), VJP)), plain)


@invariant("B", level="transforms", cost=8, needs=("transforms",), dtypes=("float64",), max_examples=4)
def test_tangent(gradient: Gradient, draw: Draw) -> None:
    """⟨c, J v⟩ = ⟨Jᵀ c, v⟩: the tangent of the framework's jvp belongs to the gradients of the equation. It is computed in
    float64, and compared within the bounds of gradients in float32.
    """
    drawn = draw.call()
    names, constants = tuple(gradient.floating_shapes(drawn)), gradient.spec.declaration.constant_arguments
    if gradient.own or set(names) != {*_list_wrt(drawn)} or any(drawn.named.get(name) is not None for name in constants):
        raise NotImplementedVariant("its tangent has parts that its gradients do not have", "suite")
    refuse_whole_results(gradient)
    arguments, keywords = tree_map(_round_to_float32, [list(drawn.arguments), drawn.keywords])
    call = gradient.call(*arguments, **keywords)
    gradient.result(call)
    plain = gradient.forward.call(*arguments[1:], **{name: x for name, x in keywords.items() if name != "wrt"})
    with add_fact("state", TANGENT):
        tangent = gradient.forward.values(plain, gradient.forward.run(plain, gradient.forward.native(plain), TANGENT))
    c = _list_cotangent(plain, arguments[0])
    low, high = _bound_product(gradient, call, names)
    with np.errstate(all="ignore"):
        terms = c * tangent.reshape(-1)
        found, slack = float(np.sum(terms)), terms.size * 2 * UNIT_ROUNDOFF * np.sum(np.abs(terms))
        held = not np.isfinite([low, high]).all() or low - slack <= found <= high + slack
    if not held:
        raise Violation(f"⟨c, J v⟩ is {found:.9g}", [("expected", f"between {low:.9g} and {high:.9g}")])


def refuse_whole_results(gradient: Gradient) -> None:
    """Refuse an operation with a result of whole numbers, of which the framework takes no gradient."""
    if INTEGER in gradient.forward.spec.results.values():
        raise NotImplementedVariant("one of its results has whole numbers", "suite")


def _round_to_float32(x: Any) -> Any:
    with np.errstate(over="ignore"):
        return x.astype(np.float32).astype(float) if is_floating(x) else x


def _list_cotangent(plain: Call, cotangent: Any) -> np.ndarray:
    """Return the cotangents of all results as one vector, with zeros for a result that has none."""
    if plain.parts is None:
        return np.reshape(cotangent, -1)
    pairs = zip(plain.parts, cotangent, strict=True)
    return _as_vector([np.zeros(part.shape) if c is None else c for part, c in pairs])


def _list_wrt(call: Call) -> tuple[str, ...]:
    wrt = call.keywords["wrt"]
    return (wrt,) if isinstance(wrt, str) else wrt


def _as_vector(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.reshape(x, -1) for x in arrays])


def _bound_product(gradient: Gradient, call: Call, names: tuple[str, ...]) -> tuple[float, float]:
    """Return the interval of ⟨Jᵀ c, v⟩, where v has the numbers of each argument, moved by one place."""
    coarse = replace(gradient, dtype="float32").call(*call.arguments, **call.keywords)
    coarse.settle(call.conventions)
    gradient.recorder.calls.remove(coarse)
    low, high = coarse.expectation(gradient.precision).ends
    by_path = {path: x for name, tree in call.named.items() for path, x in leaves(tree, name)}
    v = _as_vector([np.roll(by_path[name], 1) for name in names])
    with np.errstate(all="ignore"):
        one, other = (np.where(v == 0, 0.0, end.reshape(-1) * v) for end in (low, high))
        slack = v.size * 2 * UNIT_ROUNDOFF * np.sum(np.maximum(np.abs(one), np.abs(other)))
        return float(np.sum(np.minimum(one, other)) - slack), float(np.sum(np.maximum(one, other)) + slack)
