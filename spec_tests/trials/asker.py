"""Ask a backend for further answers, with chosen sizes, options, layouts and values, after something has failed."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ..calls.call import Call
from ..calls.gradient import Gradient
from ..calls.in_domain import dimension_sizes
from ..calls.operation import Operation
from ..calls.ranks import list_ranks
from ..calls.recorder import Recorder
from ..calls.violation import Lost, NoAnswer, NotImplementedVariant, Violation
from ..diagnosis.evidence import answer_of, truth_of, wrong_on_any_rank
from ..diagnosis.regions.asking import RIGHT, WRONG, Answer
from ..diagnosis.wish import Wish
from ..implementation.domain import HEAD_DIMENSIONS
from ..inputs.choices import NoExample
from ..inputs.chosen_draw import Chosen, ChosenDraw, require_small_call
from ..specification.formats import is_floating
from ..specification.pytree import tree_map
from ..specification.work import Budget, unlimited


class Asker:
    """Draw and answer calls of one operation of a backend in one dtype. What is drawn depends on the seed alone."""

    def __init__(self, operation: Operation, *, seed: Any, budget: Budget):
        """Once the budget is spent, nothing is asked."""
        self.operation = replace(operation, recorder=Recorder())
        self.random = random.Random(f"{seed} {operation.name} {operation.dtype}")
        self.budget = budget
        self.is_lost = False  # whether a call ended its process or timed out, so that nothing else is asked
        self._largest: dict[str, int] = {}
        self._ordinary: dict[int, Call] = {}  # the calls with ordinary values
        self.last: Call | None = None
        self.count = 0  # of the calls made

    def __call__(self, wish: Wish) -> Answer | None:
        if self.is_lost or self.budget.is_spent() or (call := self._draw(wish)) is None:
            return None
        self.count, self.last = self.count + 1, call
        try:
            native = self.operation.native(call, wish.layout)
            call.layout = wish.layout
            result = self.operation.run(call, native)
            self.operation.values(call, result)
        except NotImplementedVariant:
            return None
        except Violation as violation:
            self.is_lost = isinstance(violation, Lost)
            return Answer(call, describe_failure_kind(violation))
        if kind := self._find_wrong_kind(result, call.keywords):
            return Answer(call, kind)
        ordinary = id(wish.like) in self._ordinary if wish.like else not wish.as_drawn and (wish.is_ordinary or wish.fill is None)
        if ordinary:
            self._ordinary[id(call)] = call
        return self._compare(call, ordinary=ordinary)

    def judge(self, call: Call) -> Answer:
        call = call if call.of_rank_zero is None else call.of_rank_zero  # whose answer stands for those of all ranks
        return Answer(call, "no answer") if call.observed is None else self._compare(call, ordinary=False)

    def _compare(self, call: Call, *, ordinary: bool) -> Answer:
        assert call.observed is not None
        with np.errstate(all="ignore"):
            nearest = self.operation.storage.round(np.asarray(call.value, dtype=np.float64))
        if all(np.array_equal(answer_of(each), nearest, equal_nan=True) for each in list_ranks(call)):
            wrong, unclaimed = np.zeros(call.value.size, dtype=bool), None  # every bound admits it: none has to be derived
        else:
            wrong, unclaimed = np.ravel(wrong_on_any_rank(call)), np.ravel(~truth_of(call).claimed)
            ordinary &= not unclaimed.any()
        return Answer(call, WRONG if wrong.any() else RIGHT, wrong, unclaimed, ordinary and _can_show_errors(call.value))

    def _find_wrong_kind(self, result: Any, keywords: Mapping[str, Any]) -> str:
        """Return a text if the result is an array of another dtype than it must be, else ""."""
        framework = self.operation.backend.framework
        if self.operation.spec.is_gradient:
            return ""
        for name, x in self.operation.by_name(result).items():
            if framework.is_array(x) and (dtype := framework.dtype_of(x)) not in self.operation.expected_dtypes(name, keywords):
                return f"{name or 'the result'} is {dtype}"
        return ""

    def largest(self, dimension: str) -> int:
        if not self._largest:
            for _ in range(4):
                self._draw(Wish())
        return self._largest.get(dimension, 0)

    def _draw(self, wish: Wish) -> Call | None:
        if wish.like is not None:
            return self._change_values(wish.like)
        draw = ChosenDraw(self.random.randint, self.operation, choose(wish))
        try:
            call = draw.small_call()
            require_small_call(call)
        except (NotImplementedVariant, NoExample, ValueError, IndexError, ZeroDivisionError, TypeError):
            return None  # the sizes do not go together
        finally:
            self.operation.recorder.clear()
            for name, largest in draw.largest.items():
                self._largest[name] = max(largest, self._largest.get(name, 0))
        return call if self.operation.admits(call) else self._draw_in_known_shapes(wish)

    def _draw_in_known_shapes(self, wish: Wish) -> Call | None:
        """Return a recorded call that has the sizes and options of the wish, with ordinary values; None if there is none."""
        if wish.given or not (wish.fill is None or wish.is_ordinary):
            return None
        recorded = self.operation.backend.recorded_calls.get((self.operation.name, self.operation.dtype), [])
        known = [call for call in recorded if self.operation.admits(call) and _has(call, wish)]
        if not known:
            return None
        return self._change_values(self.random.choice(known), None if wish.as_drawn else self._draw_ordinary)

    def _draw_ordinary(self, x: np.ndarray) -> np.ndarray:
        return np.random.default_rng(self.random.getrandbits(64)).standard_normal(x.shape)

    def _change_values(self, call: Call, draw: Callable[[np.ndarray], np.ndarray] | None = None) -> Call:
        """Return a call of the same shapes and options whose floating arrays hold other values: drawn, or the same ones moved."""
        hold = self.operation.storage.round

        def change(x: Any) -> Any:
            if not (is_floating(x) and x.size):
                return x
            if draw:
                return hold(draw(x))
            shift, scale = self.random.randrange(x.size), self.random.choice((0.5, -0.5, 0.75, -1.0))
            with np.errstate(all="ignore"):
                return hold(np.where(np.isfinite(x), scale * np.roll(x, shift), x))

        return Call(self.operation, tree_map(change, call.arguments), {k: tree_map(change, x) for k, x in call.keywords.items()})


def _has(call: Call, wish: Wish) -> bool:
    """Whether a call has the sizes and the options that a wish names."""
    sizes = dimension_sizes(call)
    return wish.sizes.items() <= sizes.items() and all(
        name in call.named and not hasattr(call.named[name], "shape") and call.named[name] == value
        for name, value in wish.keywords.items()
    )


def choose(wish: Wish) -> Chosen:
    """Return what is chosen where a wish is drawn."""
    sizes = dict(wish.sizes)
    for keyword, dimension in HEAD_DIMENSIONS.items():
        if keyword in wish.keywords:
            sizes[dimension] = wish.keywords[keyword]
    return Chosen(sizes, wish.keywords, wish.given, wish.batch, wish.fill, wish.as_drawn)


def _can_show_errors(value: np.ndarray) -> bool:
    """Whether the right value is no constant, which may also be what an element holds that was never written."""
    varies = np.any(value != value.flat[0]) if value.size > 1 else np.any(value)
    return bool(varies and np.all(np.isfinite(value)))


def describe_failure_kind(violation: Violation) -> str:
    """Return what is seen in place of an answer, without the texts that differ from call to call."""
    if isinstance(violation, NoAnswer):
        return violation.what.partition(":")[0].partition("\n")[0]
    head, shape, _ = violation.what.partition(" has shape ")
    return f"{head} has another shape" if shape else head


def ask_about(operation: Operation, *, seed: Any, budget: Budget | None = None) -> Asker:
    """Return what asks about an operation until the budget is spent, which never is if it is not given."""
    assert isinstance(operation, Operation | Gradient)
    return Asker(operation, seed=seed, budget=budget or unlimited(operation.backend.meter))


def answer_instead(call: Call, arguments: dict[str, Any]) -> Call | None:
    """Return a call with other values of some arguments, answered in the same layout; None if it has no answer."""
    operation = call.operation
    assert isinstance(operation, Operation | Gradient)
    positional = tuple(arguments.get(name, x) for name, x in zip(operation.spec.positional, call.arguments, strict=False))
    other = Call(replace(operation, recorder=Recorder()), positional, {k: arguments.get(k, x) for k, x in call.keywords.items()})
    with suppress(Exception):  # a call without a readable result is no evidence
        native = other.operation.native(other, call.layout)
        operation.values(other, operation.run(other, native))
        return other
    return None


def answer_in_float32(call: Call) -> Call | None:
    """Return the call in float32, answered by the same backend; None if the backend does not take it."""
    assert isinstance(call.operation, Operation | Gradient)
    operation = replace(call.operation, dtype="float32", recorder=Recorder())
    if "float32" not in operation.backend.dtypes or operation.missing:
        return None
    with suppress(Exception):  # a call without a readable result is no evidence
        other = operation.call(*call.arguments, **call.keywords)
        operation.values(other, operation.run(other))
        return other
    return None
