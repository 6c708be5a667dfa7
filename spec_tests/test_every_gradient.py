"""What must hold of every gradient: of the vector-Jacobian product of each operation that has a slope."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from .bounds.bounded import Bounded
from .calls.call import Call
from .calls.gradient import Gradient
from .calls.result import WIDE, Result
from .calls.violation import NotImplementedVariant, Violation, add_fact
from .helpers.assertions import (
    REPEATED,
    assert_conforms,
    assert_equal,
    assert_identical,
    assert_same,
    assert_true,
    assert_unmoved,
    assert_zero,
)
from .helpers.batch import BATCHED, draw_entry, ensure_batch, has_entry, locate_entry
from .helpers.broadcasting import draw_call_with_unequal_batches
from .helpers.native_arrays import list_arrays
from .helpers.optional import answer_broadcast
from .implementation.layouts import LAYOUTS
from .implementation.states import GRADIENT_STATES, INFERENCE, some_alone
from .inputs.draw import Draw
from .specification.pytree import leaves, tree_map
from .specification.registry import core_of
from .specification.tiers import CALLS, SURROUNDINGS
from .trials.invariant import invariant


@invariant("B", cost=0.5, each_dtype=True)
def test_reference(gradient: Gradient, draw: Draw) -> None:
    """The gradient of every argument equals that of the equation, within the bound that is derived from the gradient's own
    lines. The cotangent is random, all ones as that of a sum, a single one, or the result itself.
    """
    assert_conforms(gradient.result(draw.call(any_branch=True)), gradient.recorder)


@invariant("B", cost=8)
def test_linear_in_the_cotangent(gradient: Gradient, draw: Draw) -> None:
    """vjp(αc + d) = α vjp(c) + vjp(d)."""
    call, alpha = draw.call(), draw.one_of((2.0, -1.0, 0.5, -4.0))
    c, d = (change_cotangent(call, lambda x: draw.grid(x.shape)) for _ in range(2))
    terms = iter([x for _, x in leaves(d.arguments[0]) if x is not None])
    total = change_cotangent(c, lambda x: alpha * x + next(terms))
    both, one, other = (gradient.result(x) for x in (total, c, d))
    assert_equal(both, alpha * one + other)


@invariant("E", cost=4)
def test_zero_cotangent(gradient: Gradient, draw: Draw) -> None:
    """A cotangent of zeros gives exactly zeros."""
    call = draw.call()
    assert_zero(zero_where_undefined(gradient.result(change_cotangent(call, lambda c: np.zeros(c.shape)))))


@invariant("B", cost=4, needs=("own memory",), about_state=True, tier=CALLS)
def test_layout_blind(gradient: Gradient, draw: Draw) -> None:
    """The gradients do not depend on how the cotangent and the arguments are stored. Transposed, strided and offset views,
    and one number expanded as the cotangent of a sum is, give what contiguous copies give.
    """
    if gradient.domain.get("contiguous"):
        raise NotImplementedVariant("its domain has contiguous arrays alone")
    call = draw.call()
    if draw.one_of((True, False)):
        call = change_cotangent(call, lambda c: np.ones(c.shape))
    plain, dense = gradient.result(call), gradient.native(call)
    for layout in LAYOUTS[1:]:
        (cotangent, *arrays), keywords = gradient.native(call, layout)
        of_cotangent = ((cotangent, *dense[0][1:]), dense[1])
        for stored, native in (("cotangent", of_cotangent), ("arguments", ((dense[0][0], *arrays), keywords))):
            with add_fact("stored", f"{stored} {layout}"):
                assert_same(gradient.values(call, gradient.run(call, native)), plain)


@invariant("E", cost=2)
def test_dtype_shape_device(gradient: Gradient, draw: Draw) -> None:
    """Each gradient is an array of the framework. It has its argument's shape and dtype, and is on its device."""
    call, framework = draw.call(), gradient.backend.framework
    result = gradient.run(call)
    gradient.values(call, result)
    found = gradient.by_name(result)
    for name in call.keywords["wrt"]:
        if found.get(name) is None:
            continue  # no result that has a cotangent depends on it
        dtype, expected = framework.dtype_of(found[name]), gradient.argument_format(name, call.keywords).name
        assert_true(dtype == expected, f"the gradient of {name} is {dtype}", expected=expected)
        assert_true(framework.on_device(found[name]), f"the gradient of {name} is on {framework.device_of(found[name])}")


@invariant("B", needs=("about:broadcasts",), cost=4)
def test_broadcasting(gradient: Gradient, draw: Draw) -> None:
    """If an array is broadcast along batch axes, its gradient is the sum over its copies. A backend may refuse such a call
    with any exception.
    """
    assert_conforms(answer_broadcast(gradient, draw_call_with_unequal_batches(draw)))


@invariant("E", cost=4, needs=("own memory",), about_state=True)
def test_inputs_unchanged(gradient: Gradient, draw: Draw) -> None:
    """The backward pass changes no bit of any argument or of the cotangent."""
    call, framework = draw.call(), gradient.backend.framework
    native = gradient.native(call)
    arrays = list_arrays(framework, native, gradient.spec.positional)
    before = {path: framework.numpy(x) for path, x in arrays.items()}
    gradient.values(call, gradient.run(call, native))
    for path, x in arrays.items():
        name = "the cotangent" if path.startswith("cotangent") else f"argument {path}"
        same = np.array_equal(before[path], framework.numpy(x), equal_nan=before[path].dtype.kind == "f")
        assert_true(same, f"{name} was changed by the backward pass")


@invariant("B", cost=4, about_state=True, tier=CALLS)
def test_repeatable(gradient: Gradient, draw: Draw) -> None:
    """The same backward pass gives the same gradients again, also after one of other shapes and values. A later backward
    pass does not change the gradients of an earlier one.
    """
    call = draw.call()
    native = gradient.run(call)
    first = Result(gradient.values(call, native), call)
    gradient.result(change_cotangent(call, lambda c: np.ones(c.shape)))
    assert_identical(gradient.values(call, native), first.value, sides=REPEATED)
    gradient.result(draw.call())
    assert_same(gradient.result(call), first)
    assert_identical(gradient.values(call, native), first.value, sides=REPEATED)


@invariant("E", cost=3, needs=BATCHED)
def test_entries_are_independent(gradient: Gradient, draw: Draw) -> None:
    """If only one entry of the batch has a cotangent, the gradients of every other entry are exactly 0."""
    drawn = draw.call()
    call = ensure_batch(gradient.forward.call(*drawn.arguments[1:], **drop_wrt(drawn)))
    index = draw_entry(call, draw)

    def only_there(name: str, y: np.ndarray) -> np.ndarray:
        c = np.zeros(y.shape)
        if has_entry(call, name, y, index):
            c[index] = draw.vectors(y[index].shape)
        return c

    values = call.parts.split(call.value) if call.parts else {"": call.value}
    cotangents = tuple(only_there(name, y) for name, y in values.items())
    c = cotangents if call.parts else cotangents[0]
    result = zero_where_undefined(gradient.result(gradient.call(c, *call.arguments, **call.keywords)))
    core = core_of(gradient.spec, call.named)
    for name, part in result.parts.items():
        if name in core and part.ndim - core[name] == len(index):
            part.value[locate_entry(call, name, index)] = 0.0
            with add_fact("argument", name):
                assert_zero(part)


# --- what only automatic differentiation has ------------------------------------------------------------------------------


@invariant("B", cost=4, about_state=True)
def test_forward_unchanged(gradient: Gradient, draw: Draw) -> None:
    """The operation gives the same result whether it is differentiated or not, also where that result carries no gradient.
    The backward pass does not change that result.
    """
    call = draw.call()
    plain = gradient.forward.call(*call.arguments[1:], **drop_wrt(call))
    with suppress(NotImplementedVariant):  # which the gradient itself says below
        y, _ = differentiate(gradient, call)
        assert_unmoved(Result(gradient.forward.values(plain, y), plain), gradient.forward.result(plain))
    y, pull, cotangent = run_forward(gradient, call)
    answered = gradient.forward.values(plain, y)
    gradient.attempt(lambda: pull(cotangent))
    assert_identical(gradient.forward.values(plain, y), answered, sides=REPEATED)


@invariant("B", cost=4, about_state=True)
def test_backward_twice(gradient: Gradient, draw: Draw) -> None:
    """A second backward pass through the same graph, after one with another cotangent, gives the same gradients, and does
    not change those of the first.
    """
    call = draw.call()
    _, pull, cotangent = run_forward(gradient, call)
    native = gradient.attempt(lambda: pull(cotangent))
    first = Result(gradient.values(call, native), call)
    other = change_cotangent(call, lambda c: draw.vectors(c.shape))
    second = gradient.attempt(lambda: pull(gradient.native(other)[0][0]))
    assert_same(gradient.values(other, second), gradient.result(other))
    assert_identical(gradient.values(call, native), first.value, sides=REPEATED)
    assert_same(gradient.values(call, gradient.attempt(lambda: pull(cotangent))), first)


@invariant("B", cost=4, about_state=True)
def test_accumulates(gradient: Gradient, draw: Draw) -> None:
    """Two backward passes into the same arguments add their gradients to what was there before."""
    call = draw.call()
    other = change_cotangent(call, lambda c: draw.vectors(c.shape))
    one, two = gradient.result(call), gradient.result(other)
    native, framework = gradient.native(call), gradient.backend.framework
    if gradient.own or not framework.accumulates:
        raise NotImplementedVariant("its gradients are not kept with the arguments", "suite")
    cotangents = [native[0][0], gradient.native(other)[0][0]]
    total = gradient.values(call, gradient.attempt(lambda: gradient.accumulate(cotangents, *native[0][1:], **native[1])))
    with np.errstate(all="ignore"):
        storage = call.storage
        if not np.array_equal(total, storage.round(one.value + two.value), equal_nan=True):  # as it mostly is
            stored = Bounded(total, 2 * storage.u * np.abs(total) + 2 * storage.flush, WIDE)
            assert_equal(stored, one + two)


@invariant("B", cost=16, needs=("states",), dtypes=("float32",), max_examples=3, about_state=True, tier=SURROUNDINGS)
def test_states(gradient: Gradient, draw: Draw) -> None:
    """Each gradient that is asked for is the same in every state of the framework: after a call in inference mode, with
    weights or all arguments that are parameters, with no argument that is a leaf, with gradients for some of the arguments
    alone, and with another default dtype.
    """
    call = draw.call()
    if gradient.own:
        raise NotImplementedVariant("its gradients are no framework's", "suite")
    forward = gradient.forward.call(*call.arguments[1:], **drop_wrt(call))
    gradient.forward.run(forward, gradient.forward.native(forward), INFERENCE)
    plain = gradient.run(call)
    names, found = list(gradient.floating_shapes(call)), gradient.by_name(plain)  # in the order in which a state counts them
    reached = [name for name in call.keywords["wrt"] if found.get(name) is not None]
    states = dict.fromkeys(GRADIENT_STATES, reached)
    for places in draw_some_arguments(draw, len(names)):
        states[some_alone(places)] = [name for i, name in enumerate(names) if i in places and name in reached]
    for state, wanted in states.items():
        if not wanted:
            continue
        part = gradient.call(*call.arguments, wrt=tuple(wanted), **drop_wrt(call))
        with add_fact("state", state if wanted == reached else f"gradients are asked of {', '.join(wanted)} alone"):
            assert_same(answer_in_state(gradient, part, state), Result(gradient.values(part, plain), part))


def draw_some_arguments(draw: Draw, count: int) -> list[frozenset[int]]:
    """Draw subsets of the arguments, without the whole: each of the first four alone, all but the first, and two of any."""
    everything = frozenset(range(count))
    some = [*({i} for i in range(min(count, 4))), everything - {0}]
    some += [{i for i in everything if draw.one_of((False, True))} for _ in range(2)]
    return [frozenset(one) for one in dict.fromkeys(map(frozenset, some)) if one and one != everything]


def answer_in_state(gradient: Gradient, call: Call, state: str) -> np.ndarray:
    """Return the gradients that the call asks for, computed in the state. One that is missing is a violation."""
    try:
        native = gradient.run(call, gradient.native(call), state)
    except NotImplementedVariant as refusal:
        raise Violation(f"there is no gradient of {', '.join(call.keywords['wrt'])} ({refusal})") from None
    found = gradient.by_name(native)
    for name in call.keywords["wrt"]:
        assert_true(found.get(name) is not None, f"there is no gradient of {name}")
        dtype, expected = gradient.backend.framework.dtype_of(found[name]), gradient.argument_format(name, call.keywords).name
        assert_true(dtype == expected, f"the gradient of {name} is {dtype}", expected=expected)
    return gradient.values(call, native)


@invariant("E", level="all-gradients", cost=8, dtypes=("float32",), max_examples=3)
def test_all_gradients(gradient: Gradient, draw: Draw) -> None:
    """Every floating argument has a gradient, except one that the equation's value does not depend on."""
    call = draw.call(all_arguments=draw.one_of((True, True, False)))
    if gradient.own:
        raise NotImplementedVariant("its gradients are no framework's", "suite")
    whole = gradient.call(*call.arguments, wrt=tuple(gradient.floating_shapes(call)), **drop_wrt(call))
    found = gradient.by_name(gradient.run(whole))
    with np.errstate(all="ignore"):
        expected = whole.parts.split(whole.value) if whole.parts else {}
    lost = [name for name, value in expected.items() if found.get(name) is None and np.any(value != 0)]
    assert_true(not lost, f"there is no gradient of {', '.join(lost)}")


# --- what the statements share --------------------------------------------------------------------------------------


def replace_cotangent(call: Call, cotangent: np.ndarray) -> Call:
    """Return the call with another cotangent."""
    return call.operation.call(cotangent, *call.arguments[1:], **call.keywords)


def change_cotangent(call: Call, change: Callable[[np.ndarray], np.ndarray]) -> Call:
    """Return the call with another cotangent: that of each result, if it has one, is changed."""
    return replace_cotangent(call, tree_map(lambda c: None if c is None else change(c), call.arguments[0]))


def zero_where_undefined(result: Result) -> Result:
    """Return the result with zeros where the equation has no gradient, as for a constant row normalized with eps = 0."""
    return Result(np.where(np.isnan(result.call.value), 0.0, result.value), result.call)


def drop_wrt(call: Call) -> dict[str, Any]:
    """Return the call's keywords without `wrt`."""
    return {name: value for name, value in call.keywords.items() if name != "wrt"}


def run_forward(gradient: Gradient, call: Call) -> tuple[Any, Any, Any]:
    """Return the backend's result, the function that pulls a cotangent of it back, and the call's cotangent."""
    if not gradient.own:
        gradient.run(call)  # refused, or recorded, as any other
    return *differentiate(gradient, call), gradient.native(call)[0][0]


def differentiate(gradient: Gradient, call: Call) -> tuple[Any, Any]:
    """Return the backend's result for arguments that have a gradient, and the function that pulls a cotangent of it back."""
    if gradient.own:
        raise NotImplementedVariant("its gradients are no framework's", "suite")
    (_, *arrays), keywords = gradient.native(call)
    y, pull = gradient.attempt(lambda: gradient.linearize(*arrays, **keywords))
    return y, pull
