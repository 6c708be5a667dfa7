"""What must hold of every operation, whatever else it has."""

from dataclasses import replace
from typing import Any

import numpy as np

from .bounds.expectation import Expectation, Stage
from .calls.call import Call
from .calls.given import WHICH
from .calls.operation import Operation
from .calls.result import Result
from .calls.violation import Lost, NotImplementedVariant, Violation, add_fact
from .helpers.assertions import REPEATED, assert_conforms, assert_identical, assert_same, assert_true
from .helpers.batch import (
    BATCHED,
    batch_shape,
    change_arguments,
    changeable_arguments,
    draw_call_with_equal_rows,
    draw_entry,
    ensure_batch,
    holds_nan,
    isolate_entry,
    locate_entry,
    poison_other_entries,
    set_argument_to_constant,
    take_entry,
)
from .helpers.native_arrays import assert_still, assert_unchanged, copy_arrays, refill, write_to_result
from .helpers.storage import give_twice, lay_out_some, pairs_of_one_shape
from .implementation.device_work import is_on_device
from .implementation.layouts import LAYOUTS, UNFINISHED
from .inputs.draw import Draw
from .specification.formats import is_floating
from .specification.narrow_formats import NarrowFormat
from .specification.pytree import tree_map
from .specification.tiers import CALLS
from .trials.invariant import invariant

OVERWRITTEN = "a later call overwrites the result of an earlier one"
SHARED = "a result changes when another one is written to: they share memory"


@invariant("B", cost=0.25, each_dtype=True)
def test_reference(operation: Operation, draw: Draw) -> None:
    """The value equals the equation, evaluated in float64 on the very same inputs, within the derived bound."""
    assert_conforms(operation.result(draw.call(any_branch=True)), operation.recorder)


@invariant("E", each_dtype=True)
def test_dtype_shape_device(operation: Operation, draw: Draw) -> None:
    """Each result is an array of the framework. It has the equation's shape and the arguments' dtype, and is on their
    device.
    """
    call, framework = draw.call(), operation.backend.framework
    result = operation.run(call)
    operation.values(call, result)
    for name, x in operation.arrays_by_name(result).items():
        expected, label = operation.expected_dtypes(name, call.keywords), name or "the result"
        assert_true(framework.dtype_of(x) in expected, f"{label} is {framework.dtype_of(x)}", expected=" or ".join(expected))
        assert_true(framework.on_device(x), f"{label} is on {framework.device_of(x)}", expected=framework.device)


@invariant("E", needs=("about:core", "own memory"), each_dtype=True, about_state=True)
def test_inputs_unchanged(operation: Operation, draw: Draw) -> None:
    """The call changes no bit of any argument, except of caches that the backend updates in place. This holds in each dtype,
    also in those that need no upcast, where code may work on the argument itself.
    """
    call, framework = draw.call(), operation.backend.framework
    layout = draw.one_of((LAYOUTS[0], *_list_layouts(operation)))
    native = operation.native(call, layout)
    names = operation.spec.positional
    before = copy_arrays(framework, native, names)
    operation.run(call, native)
    for name in operation.updated_in_place:
        before.pop(name, None)
    after = {path: x for path, x in copy_arrays(framework, native, names).items() if path in before}
    with add_fact("stored", layout):
        assert_unchanged(before, after, "was changed by the call")


@invariant("B", needs=("about:core", "own memory"), about_state=True, tier=CALLS)
def test_layout_blind(operation: Operation, draw: Draw) -> None:
    """The result does not depend on how arguments are stored. Transposed, strided, offset, broadcast, reversed and read-only
    views give what contiguous copies give, as do arrays that work under way on a device is still to write. One array that is
    given for two arguments gives what two equal arrays give.
    """
    equal_rows = draw.one_of((False, False, True))  # which alone can be broadcast views
    call = draw_call_with_equal_rows(draw) if equal_rows else draw.call()
    if not batch_shape(call) and draw.one_of((False, True)):
        call = ensure_batch(call)  # one row has no other order
    arrays = [x for x in call.arguments if isinstance(x, np.ndarray)]
    which, plain = draw.one_of(("all", *WHICH)) if len(arrays) > 1 else "all", operation.result(call)
    for layout in _list_layouts(operation, equal_rows=equal_rows):
        with add_fact("stored", f"{layout}, {which}" if which != "all" else layout):
            assert_same(operation.values(call, operation.run(call, lay_out_some(operation, call, layout, which))), plain)
    if pairs := pairs_of_one_shape(operation, call):
        pair = draw.one_of(pairs)
        equal, native = give_twice(operation, call, pair)
        with add_fact("given as one array", " and ".join(operation.spec.positional[i] for i in pair)):
            assert_same(operation.values(equal, operation.run(equal, native)), operation.result(equal))


@invariant("B", needs=BATCHED)
def test_batch_independence(operation: Operation, draw: Draw) -> None:
    """An entry of the batch has the result that it has alone, whatever the other entries contain, also NaN and infinities."""
    call = ensure_batch(draw.call())
    whole = operation.result(call)
    index = draw_entry(call, draw)
    alone, parts = operation.result(isolate_entry(call, index)).parts, whole.parts
    for name, part in parts.items():
        entry = take_entry(call, name, part, index)
        assert_same(alone[name].value.reshape(np.shape(entry.value)), entry)
    if any(dim > 1 for dim in batch_shape(call)):
        poisoned = _run_unless_refused(operation, poison_other_entries(call, index, draw.one_of((np.nan, np.inf))))
        if poisoned is None:
            return
        beside = operation.values(call, poisoned)
        for name, part in Result(beside, call).parts.items():
            assert_same(take_entry(call, name, part.value, index), take_entry(call, name, parts[name], index))


@invariant("B", cost=2, about_state=True, tier=CALLS)
def test_repeatable(operation: Operation, draw: Draw) -> None:
    """The same call gives the same result again, also after calls with other shapes, dtypes, values and parameters."""
    call = draw.call()
    first = operation.result(call)
    assert_same(operation.result(call), first)
    operation.result(draw.call())
    for dtype in operation.backend.dtypes:
        if dtype != operation.dtype and not (other := replace(operation, dtype=dtype)).missing and not operation.spec.dtype:
            _call_ignoring_failures(other, other.call(*call.arguments, **call.keywords))
    operation.run(change_arguments(call))
    assert_same(operation.result(call), first)


def _run_unless_refused(operation: Operation, call: Call) -> Any:
    """Run a call with NaN or infinities, and return what it returns. It is None if the code raises where it may do so."""
    try:
        return operation.run(call)
    except Lost:
        raise
    except Violation:
        if not operation.spec.declaration.refused:
            raise
        operation.recorder.forget_last_call()
        return None


def _call_ignoring_failures(operation: Operation, call: Call) -> None:
    """Run the call, whatever becomes of it. The trials in its own dtype judge that."""
    try:
        operation.run(call)
    except Lost:
        raise
    except (Violation, NotImplementedVariant):
        operation.recorder.forget_last_call()


@invariant("E", needs=("about:core",), about_state=True)
def test_every_argument_counts(operation: Operation, draw: Draw) -> None:
    """If a change of one argument, or of one element of it, changes the equation's value, it changes the result. So the code
    ignores no argument, and keeps nothing of the call before, also if the caller writes other values into the same arrays.
    """
    before, framework = draw.call(all_arguments=draw.one_of((False, True, True))), operation.backend.framework
    single = min(draw.integer(0, 99) / 50, 0.999)  # in half of the cases the last
    place = draw.one_of((None, single, None))
    same_memory, half = draw.one_of((False, True)), draw.one_of(draw.planned("half of the arguments", (0, 1)))
    native = operation.native(before)
    first = operation.values(before, operation.run(before, native))
    names = changeable_arguments(before)
    prepared = {name for name in names if isinstance(x := before.named[name], np.ndarray) and x.dtype.kind in "ib"}
    changed = [name for i, name in enumerate(names) if i % 2 == half or name in prepared]
    for name in changed or names:  # indices and masks, of which code keeps what it has prepared, and half of the others
        after = change_arguments(before, name, place)
        fresh = operation.native(after)
        if same_memory and refill(operation, before, native, fresh):
            kept = {keyword: x for keyword, x in native[1].items() if framework.is_array(x)}
            fresh = (native[0], {**fresh[1], **kept})
        second = operation.values(after, operation.run(after, fresh))
        apart = before.value != after.value
        same = apart & (first == second)  # of these alone intervals are needed, which hold the values
        for stage in Stage if np.any(same) else ():  # intervals that meet at an early stage meet at a later one
            one, other = (call.expectation(operation.precision).at_stage(stage).ends for call in (before, after))
            apart = (one[1] < other[0]) | (other[1] < one[0])
            same &= apart
            if not np.any(same):
                break
        with add_fact("changed", f"{name}{', in the same memory' if same_memory else ''}"):
            assert_true(not np.any(same), f"{int(np.sum(same))} elements did not change, of {int(np.sum(apart))} that must")


@invariant("E", needs=("own memory",), about_state=True, tier=CALLS)
def test_not_an_alias(operation: Operation, draw: Draw) -> None:
    """A result shares no memory with an argument or with another result. Writing to it changes none of them, and later calls
    do not change it.
    """
    call, framework = set_argument_to_constant(draw, draw.call()), operation.backend.framework
    native = operation.native(call)
    arguments = copy_arrays(framework, native, operation.spec.positional)
    first = operation.run(call, native)
    kept = operation.values(call, first)
    if not (arrays := [*operation.arrays_by_name(first).values()]):
        return
    if operation.updated_in_place:
        raise NotImplementedVariant("its results are its arguments, updated in place", "suite")
    seen = {id(x): framework.numpy(x) for x in arrays}
    others: list[Any] = []
    for other in (change_arguments(call), change_arguments(change_arguments(call))):  # two buffers may take turns
        others += operation.arrays_by_name(operation.run(other)).values()
        seen |= {id(x): framework.numpy(x) for x in others if id(x) not in seen}
        assert_still(framework, arrays, seen, OVERWRITTEN)
    while arrays and write_to_result(operation, call, first, x := arrays.pop(0), 0 if seen[id(x)].dtype.kind in "biu" else -7.0):
        assert_unchanged(arguments, copy_arrays(framework, native, operation.spec.positional), "shares the result's memory")
        assert_still(framework, [*arrays, *others], seen, SHARED)
        again = operation.values(call, operation.run(call))
        assert_same(replace_values(operation.result(call), again), replace_values(operation.result(call), kept))
    assert_still(framework, others, seen, SHARED)


@invariant("E", cost=4, needs=BATCHED, tier=CALLS)
def test_empty(operation: Operation, draw: Draw) -> None:
    """An empty batch gives an empty result of the right shape and dtype."""
    if operation.domain.get("empty") is False:
        raise NotImplementedVariant("its domain excludes empty arrays")
    call = ensure_batch(draw.call())
    operation.result(isolate_entry(call, draw_entry(call, draw), empty=True))


# --- levels ---------------------------------------------------------------------------------------------------------


@invariant("E", level="bitwise-repeatable", cost=2)
def test_bitwise_repeatable(operation: Operation, draw: Draw) -> None:
    """The same call gives the same bits again."""
    call = draw.call()
    first = operation.values(call, operation.run(call))
    assert_identical(operation.values(call, operation.run(call)), first, sides=REPEATED)


@invariant("E", level="batch-invariant", cost=2, needs=BATCHED)
def test_batch_invariant(operation: Operation, draw: Draw) -> None:
    """An entry's result has the same bits alone as in any batch."""
    call = ensure_batch(draw.call())
    index = draw_entry(call, draw)
    alone = operation.result(isolate_entry(call, index)).parts
    for name, part in operation.result(call).parts.items():
        entry = take_entry(call, name, part.value, index)
        assert_identical(alone[name].value.reshape(np.shape(entry)), entry, sides=REPEATED)


@invariant("E", level="nan-propagation", cost=2, needs=("about:core", "about:not joins_rows"))
def test_nan_propagation(operation: Operation, draw: Draw) -> None:
    """A NaN in an entry of the batch gives a NaN in the result of that entry, if it does so in the equation."""
    call = ensure_batch(draw.call())
    name = operation.spec.positional[0]
    if any(f.nan is None for f in _list_narrow_results(call)) or not holds_nan(call, name):
        raise NotImplementedVariant("a format without NaN", "suite")
    if name in operation.spec.declaration.checked:
        raise NotImplementedVariant("an argument that code may refuse where it holds NaN", "suite")
    index = draw_entry(call, draw)
    x = call.named[name].astype(float)
    part = x[locate_entry(call, name, index)] if x.size and call.named[name].dtype.kind == "f" else np.empty(0)
    if not part.size:
        raise NotImplementedVariant("no floating argument", "suite")
    inside = np.unravel_index(draw.integer(0, part.size - 1), part.shape)
    x[(*locate_entry(call, name, index), *inside)] = np.nan
    spoiled = operation.call(x, *call.arguments[1:], **call.keywords)
    if name in operation.spec.declaration.refused and _run_unless_refused(operation, spoiled) is None:
        return
    result = operation.result(spoiled)
    exact = result.call.parts.split(result.call.value) if result.call.parts else {"": result.call.value}
    found = {part: take_entry(result.call, part, x.value, index) for part, x in result.parts.items()}
    shown = any(np.any(np.isnan(entry)) for entry in found.values())
    needed = any(np.any(np.isnan(take_entry(result.call, part, exact[part], index))) for part in found)
    assert_true(shown or not needed, f"a NaN in {name} is swallowed")


@invariant("B", level="mixed-dtypes", cost=2, needs=("about:mixed_dtypes",), bits=16)
def test_mixed_dtypes(operation: Operation, draw: Draw) -> None:
    """If x has 16 bits and the weights are float32, the result has the dtype of x, and is rounded once."""
    drawn = draw.call()
    wide = replace(draw.operation, dtype="float32")
    finer = (w * (1 + draw.rng.uniform(-1, 1, w.shape) * 2.0**-9) for w in drawn.arguments[1:])
    weights = [w.astype(np.float32).astype(float) for w in finer]
    call = Call(operation, (drawn.arguments[0], *weights), drawn.keywords)
    (x, *_), keywords = operation.native(call)
    (_, *native), _ = wide.native(call)
    result = operation.run(call, ((x, *native), keywords))
    values, dtype = operation.values(call, result), operation.backend.framework.dtype_of(result)
    assert_true(dtype == operation.dtype, f"the result is {dtype}", expected=operation.dtype)
    assert_conforms(replace_values(operation.result(drawn), values, call))


@invariant("S", level="unbiased", needs=("about:core",))
def test_unbiased(operation: Operation, draw: Draw) -> None:
    """On average, results are rounded neither upwards nor away from zero. The mean error of many results, in
    ulps, is that of rounding to nearest, within the mean share of the bound plus Hoeffding's deviation of bounded
    independent errors at a probability of 1e-9. Where a precision class allows each step to be stored in 16 bits, storing
    the last step is the rounding of the result itself, and adds no further share.
    """
    drawn = draw.call()
    if operation.spec.is_whole:
        raise NotImplementedVariant("whole numbers, which are not rounded", "suite")
    if _list_narrow_results(drawn):
        raise NotImplementedVariant("a result of few bits, whose roundings laws of its own judge", "suite")
    fresh, options = tree_map(lambda x: draw.normal(x.shape) if is_floating(x) else x, [list(drawn.arguments), drawn.keywords])
    call = operation.call(*fresh, **options)
    got = operation.values(call, operation.run(call))
    classes = operation.classes()
    precision = next((p for p in classes if np.all(call.expectation(p).accepts(got))), classes[-1])
    for stage in (Stage.FEW, Stage.WHOLE):  # what is no bias by the smaller errors of an early stage is none
        if not (biases := _find_biases(call.expectation(precision).at_stage(stage), got, is_eager=precision == "eager")):
            return
    direction, mean, n, allowed = biases[0]
    raise Violation(f"mean error {mean:.3g} ulp {direction} of {n} elements", [("allowed", str(allowed))])


def _find_biases(expectation: Expectation, got: np.ndarray, *, is_eager: bool) -> list[tuple[str, float, int, float]]:
    """Return each direction in which results are rounded on average: with their mean error, their number, and what is allowed."""
    storage, value = expectation.storage, expectation.value
    with np.errstate(all="ignore"):
        ulp = 2 * storage.half_gap(storage.round(value), value)
        last = storage.u * np.abs(value) if is_eager else 0.0
        slack = np.maximum(expectation.error - last, 0.0) / ulp
        sure = expectation.claimed & (slack < 1 / 4) & np.isfinite(got) & (np.abs(got) > storage.tiny)
    _, unique = np.unique(np.abs(np.frexp(value[sure])[0]), return_index=True)  # others round alike
    n = len(unique)
    if n == 0:
        return []
    errors, slack = ((got[sure] - value[sure]) / ulp[sure])[unique], slack[sure][unique]
    allowed = np.mean(slack) + (1 + 2 * np.max(slack)) * np.sqrt(np.log(4e9) / (2 * n))
    means = {"up": np.mean(errors), "away from zero": np.mean(errors * np.sign(value[sure][unique]))}
    return [(direction, mean, n, allowed) for direction, mean in means.items() if not abs(mean) <= allowed]


# --- what the statements share --------------------------------------------------------------------------------------


def replace_values(result: Any, values: np.ndarray, call: Call | None = None) -> Any:
    """Return the result as it would be if the backend had returned these values."""
    return type(result)(values, call or result.call)


def _list_narrow_results(call: Call) -> list[NarrowFormat]:
    """Return the formats of the results of a call that have few bits."""
    found = [call.operation.named_format(name, call.keywords) for name in call.operation.spec.results]
    return [f for f in found if isinstance(f, NarrowFormat)]


def _list_layouts(operation: Operation, *, equal_rows: bool | None = None) -> tuple[str, ...]:
    """Return the layouts in which arguments may be stored. Where the domain demands contiguous ones, no view is one.

    equal_rows: whether all rows are equal. Then broadcast views are to be tried; otherwise they are impossible.
    """
    views: tuple[str, ...] = LAYOUTS[:1] if operation.domain.get("contiguous") else LAYOUTS[1:]
    if len(views) > 1 and equal_rows is not None:
        views = tuple(layout for layout in views if (layout == "broadcast") == equal_rows)
    return (*views, *((UNFINISHED,) if is_on_device(operation.backend.framework) else ()))
