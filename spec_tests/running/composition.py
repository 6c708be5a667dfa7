"""A composition: code that is made of several operations, and carries states from call to call. Its equation is a user's own.

The equation is a function of the equations in `reference_numpy`, and so gives the value and the error bound of the code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..bounds.expectation import Expectation
from ..calls.read_array import read_array
from ..calls.real_numbers import drop_errors, wrap_numbers
from ..calls.violation import Violation, exceeds_bound, format_index
from ..helpers.assertions import assert_equal
from ..implementation.framework import Framework
from ..specification.first_use import import_modules
from ..specification.float_errors import ignored_float_errors
from ..specification.formats import FORMATS, Arithmetic, Format
from ..specification.pytree import tree_map
from .check import DoesNotConform

JOINTS = "spec_tests.running.joints"  # imported when something is wrong
LENGTHS = (1, 2, 3, 7, 17, 33, 65, 5, 16, 64)  # tokens of an example
MAX_CALLS = 6  # beside the wrong one, which a cause must explain
FURTHER = 5  # examples that are run after a wrong one, so that fewer causes explain all answers
CUTS = ("whole", "token by token", "two", "three", "an empty call")
LAWS = MappingProxyType(
    {
        "reference": "All at once it is the composition of the equations",
        "each_call": "Each call is the composition of the equations for the states that it was given",
        "any_cut": "Calls that hand the states on, token by token too, give what one call gives",
    }
)


@dataclass(frozen=True)
class Composition:
    """The code and the equation, which take and return the same: out, and the states in the order of `states`."""

    block: Callable[..., Any]
    equation: Callable[..., Any]
    states: tuple[str, ...]
    tokens: Mapping[str, int]  # the axis of the tokens in each argument that has them, and in out
    framework: Framework
    dtype: str
    precision: str

    @property
    def results(self) -> tuple[str, ...]:
        return ("out", *self.states)

    @property
    def storage(self) -> Format:
        return FORMATS[self.dtype]

    def expect(self, named: Mapping[str, Any], equation: Callable[..., Any] | None = None) -> list[Expectation]:
        """Return the value and the error bound of each result, of the equation or of another."""
        arithmetic = Arithmetic.of(self.dtype, self.precision)
        wrapped = {name: wrap_numbers(name, x, lambda x: Bounded.input(x, arithmetic)) for name, x in named.items()}
        with ignored_float_errors():
            results = (equation or self.equation)(**wrapped)
            pairs = [x.pair if isinstance(x, Bounded) else (x, np.zeros(np.shape(x))) for x in results]
        times = 2 if arithmetic.compute.precision == 53 else 1  # the oracle is a float64 implementation too
        return [Expectation(value, times * error, self.storage) for value, error in pairs]

    def run(self, named: Mapping[str, Any], given: Mapping[str, Any]) -> BlockCall:
        """Call the code with arrays of its framework; `given` are states as it returned them."""
        arrays = tree_map(self._make, {name: x for name, x in named.items() if name not in self.states})
        try:
            returned = self.block(**arrays, **{name: given.get(name) for name in self.states})
        except Exception as error:
            raise Violation(f"the code raises {type(error).__name__}: {error}") from error
        if not isinstance(returned, list | tuple) or len(returned) != len(self.results):
            raise Violation(f"the code does not return {', '.join(self.results)}")
        shapes = [np.shape(x) for x in self.equation(**drop_errors(dict(named)))]
        answers = [
            read_array(self.framework, name, x, shape, None, self.storage)
            for name, x, shape in zip(self.results, returned, shapes, strict=True)
        ]
        return BlockCall(dict(named), answers, dict(zip(self.states, returned[1:], strict=True)))

    def _make(self, x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return x
        return self.framework.lay_out(x, {"f": self.dtype, "b": "bool"}.get(x.dtype.kind, "int64"), "contiguous")

    def take(self, named: Mapping[str, Any], tokens: slice) -> dict[str, Any]:
        """Return the arguments for some of the tokens."""
        return {name: _along(x, self.tokens[name], tokens) if name in self.tokens else x for name, x in named.items()}


@dataclass
class BlockCall:
    """The arguments of a call, what was answered, and the states as the framework has them."""

    named: dict[str, Any]
    answers: list[np.ndarray]
    states: dict[str, Any]
    is_wrong: bool = False  # whether an answer lies outside of its bound


@dataclass
class Example:
    """Arguments for n tokens, and where they are cut."""

    seed: int
    named: dict[str, Any]
    n: int
    cuts: str
    stops: list[int] = field(default_factory=list)


def _along(x: Any, axis: int, tokens: slice) -> Any:
    index = [slice(None)] * np.ndim(x)
    index[axis] = tokens
    return x[tuple(index)]


def check_composition(
    block: Callable[..., Any],
    equation: Callable[..., Any],
    draw: Callable[[np.random.Generator, int], dict[str, Any]],
    *,
    states: Sequence[str],
    tokens: Mapping[str, int],
    framework: str = "torch",
    device: str | None = None,
    dtype: str = "float32",
    precision: str = "eager",
    examples: int = 40,
) -> None:
    """Judge code that is made of several operations and carries states, by the composition of their equations.

    `block` and `equation` have the same arguments, by keyword, and return out and then the states in the order of `states`.
    `block` takes arrays of the framework. `equation` is made of the functions in `reference_numpy`, which its module imports by
    name. `draw(rng, n)` returns the other arguments for n tokens. The first call has None for each state. `tokens` is the axis of
    the tokens in each argument that has one, and in "out".

    Raise DoesNotConform at the first example whose answers leave the derived bound. The message names the joint or the part, as
    far as one explains all that was answered up to then.
    """
    __tracebackhide__ = True
    composition = Composition(block, equation, tuple(states), dict(tokens), Framework(framework, device), dtype, precision)
    for seed in range(examples):
        example, calls = draw_example(composition, draw, seed), list[BlockCall]()
        try:
            law = "reference"
            whole = composition.run(_with_states(composition, example.named), {})
            calls.append(whole)
            out, of_whole = _judge(composition, whole)
            law = "each_call"
            outs, last = run_in_parts(composition, example, calls)
            law = "any_cut"
            judge_cut(composition, outs, last, out, of_whole)
        except Violation as violation:
            names = _find_names(composition, draw, seed, calls) if calls and calls[-1].is_wrong else []
            raise DoesNotConform(_describe(example, law, violation, names), []) from None


def _find_names(
    composition: Composition, draw: Callable[[np.random.Generator, int], dict[str, Any]], seed: int, calls: list[BlockCall]
) -> list[str]:
    """Return what explains the last call, which is wrong, those before it, and some of further examples."""
    others = calls[:-1]
    for other in range(seed + 1, seed + FURTHER):
        with suppress(Exception):
            run_in_parts(composition, draw_example(composition, draw, other), others, is_judged=False)
    return list(import_modules(JOINTS)[0].explain(composition, calls[-1], others[:MAX_CALLS]))


def _with_states(composition: Composition, named: Mapping[str, Any]) -> dict[str, Any]:
    return {**named, **dict.fromkeys(composition.states)}


def draw_example(composition: Composition, draw: Callable[[np.random.Generator, int], dict[str, Any]], seed: int) -> Example:
    """Draw the arguments of an example, which the dtype holds, and its cuts."""
    rng = np.random.default_rng(seed)
    n, cuts = LENGTHS[seed % len(LENGTHS)], CUTS[seed // 2 % len(CUTS)]
    rounded = composition.storage.round
    named = tree_map(lambda x: rounded(x) if getattr(x, "dtype", np.dtype(int)).kind == "f" else x, draw(rng, n))
    inner = {
        "whole": [],
        "token by token": list(range(1, min(n, 9))),
        "two": [int(rng.integers(0, n + 1))],
        "three": sorted(int(x) for x in rng.integers(0, n + 1, 2)),
        "an empty call": [n // 2, n // 2],
    }[cuts]
    return Example(seed, named, n, cuts, [*inner, n])


def _judge(composition: Composition, call: BlockCall) -> tuple[Bounded, list[Bounded]]:
    """Return out and the states with their errors; a Violation if one lies outside of its bound."""
    expectations = composition.expect(call.named)
    for name, answer, expectation in zip(composition.results, call.answers, expectations, strict=True):
        if not np.all(accepted := expectation.accepts(answer)):
            call.is_wrong = True
            raise exceeds_bound(answer, expectation, accepted, partial(_name_element, name))
    out, *states = (
        _as_bounded(composition, answer, expectation) for answer, expectation in zip(call.answers, expectations, strict=True)
    )
    return out, states


def _name_element(name: str, index: tuple[Any, ...]) -> str:
    return f"{name}{format_index(index)}"


def _as_bounded(composition: Composition, answer: np.ndarray, expectation: Expectation) -> Bounded:
    """Return an answer with the largest distance from the truth that a right one has."""
    return Bounded(answer, expectation.radius, Arithmetic.of(composition.dtype, composition.precision))


def run_in_parts(
    composition: Composition, example: Example, calls: list[BlockCall], *, is_judged: bool = True
) -> tuple[list[Bounded], list[Bounded | None]]:
    """Call the code for each part with the states that the one before returned. Return the outs, and the last states.

    Each call is judged at the states that it was given. The errors that are returned are those of all calls before as well.
    """
    given: dict[str, Any] = {}
    of_given: dict[str, Bounded | None] = dict.fromkeys(composition.states)
    outs, start = list[Bounded](), 0
    for stop in example.stops:
        own = composition.take(example.named, slice(start, stop))
        values = {name: None if x is None else x.value for name, x in of_given.items()}
        call = composition.run({**own, **values}, given)
        calls.append(call)
        if is_judged:
            _judge(composition, call)
        expectations = composition.expect({**own, **of_given})
        out, *after = (_as_bounded(composition, x, e) for x, e in zip(call.answers, expectations, strict=True))
        outs.append(out)
        given, of_given, start = call.states, dict(zip(composition.states, after, strict=True)), stop
    return outs, list(of_given.values())


def judge_cut(
    composition: Composition, outs: list[Bounded], last: list[Bounded | None], out: Bounded, states: list[Bounded]
) -> None:
    """The outs of all parts in a row, and the last states, are those of one call."""
    axis = composition.tokens["out"]
    values, errors = (np.concatenate([getattr(x, kind) for x in outs], axis=axis) for kind in ("value", "error"))
    joined = Bounded(values, errors, out.arithmetic)
    for name, x, y in zip(composition.results, [joined, *last], [out, *states], strict=True):
        assert_equal(x, y, sides=(f"{name} of several calls", f"{name} of one call"))


def _describe(example: Example, law: str, violation: Violation, names: list[str]) -> str:
    """Return the message: the law, the example, what is wrong, and the joints or parts that explain it."""
    lines = [f"the composition breaks {law}: {LAWS[law]}.", f"  example {example.seed}: {example.n} tokens, cut: {example.cuts}"]
    lines += [f"  {violation.what}", *(f"    {label}: {text}" for label, text in violation.facts)]
    lines += [f"  this explains it: {name}" for name in names] or ["  no known joint or part explains it"]
    return "\n".join(lines)
