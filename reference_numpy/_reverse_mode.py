"""Gradients of an equation by reverse differentiation: the chain rule, one NumPy function at a time.

`vjp` evaluates an equation on arrays that keep how they were computed, and goes back from the results to the arguments. Each step
back is written in NumPy functions, too. So it runs on every number type on which equations run, such as those with an error.
An operation whose gradient has a form of its own, with fewer roundings or another way to be stored, has it written by hand.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from inspect import signature
from typing import Any

import numpy as np

from . import _choice, _marks, _recurrence
from ._sums import product_summed_to, summed_to

Pull = Callable[[Any], Any] | None  # the cotangent of an argument of a function, from that of its result; None if it has none

SAME = ("returned", "wide", "widened", "in_bits", "beside_one", "interpolated", "through_maximum", "through_quotient")
STORED = ("rounded", "eager")  # marks of a tensor that may be stored: so may its gradient


def vjp(equation: Callable[..., Any], cotangent: Any, *arguments: Any, **keywords: Any) -> tuple[Any, ...]:
    """Return the gradients of sum(cotangent * result) with respect to all positional arguments.

    The gradient of an argument that is not floating, or not given, is None. An argument may be a dict or a list of arrays, and so
    is its gradient.

    cotangent: of the only result, or a sequence of those of all results, in which None stands for 0.

    >>> vjp(lambda x, y: x * np.exp(y), [1.0, 2.0], [3.0, 5.0], [0.0, 0.0])
    (array([1., 2.]), array([ 3., 10.]))
    """
    positional = [p for p in signature(equation).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    given = [*arguments, *(keywords.pop(p.name, p.default) for p in positional[len(arguments) :])]
    traced = [_map_leaves(_trace, x) for x in given]
    results = equation(*traced, **{name: _trace(x) if _has_own_type(x) else x for name, x in keywords.items()})
    several = isinstance(results, tuple | list)
    found = _go_back(zip(results if several else [results], cotangent if several else [cotangent], strict=True))
    return tuple(
        _map_leaves(lambda x: found.get(id(x), _zeros(x)) if isinstance(x, Traced) else None, argument) for argument in traced
    )


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """An array, and the steps by which it was computed: of each, the array it began with and how a cotangent goes back to it."""

    def __init__(self, primal: Any, steps: Iterable[tuple["Traced", Callable[[Any], Any]]] = ()):
        self.primal, self.steps = primal, tuple(steps)

    @property
    def value(self) -> Any:
        """The plain array."""
        return getattr(self.primal, "value", self.primal)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.primal.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> "Traced":
        return _move(lambda x: x[index], [self], lambda parts: parts[0])

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        if not hasattr(_Rules, ufunc.__name__):
            return ufunc(*map(_primal, args)) if _is_test(ufunc) else NotImplemented
        return _apply(ufunc, args, {})

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        if function.__name__ in _marks.REARRANGING:  # it is asked itself which element goes where
            if isinstance(args[0], list | tuple):
                return _move(lambda parts: function(parts, *args[1:], **options), list(args[0]), list)
            return _move(lambda x: function(x, *args[1:], **options), [args[0]], lambda parts: parts[0])
        return _apply(function, args, options) if hasattr(_Rules, function.__name__) else NotImplemented

    # --- the marks, and the functions that NumPy lacks --------------------------------------------------------------

    def exact(self) -> "Traced":
        """Return a shift that is given back later. Its gradient is 0, but for roundings that some code leaves."""
        return Traced(_marks.exact(self.primal), [(self, lambda c: c)])

    def logistic(self) -> "Traced":
        x = self.primal
        z = _marks.logistic(x)
        return Traced(z, [(self, lambda c: c * (z * _marks.logistic(-x)))])

    def normal_cdf(self) -> "Traced":
        x = self.primal
        density = np.exp(-np.square(x) / 2) / math.sqrt(2 * math.pi)
        return Traced(_marks.normal_cdf(x), [(self, lambda c: c * density)])

    def finite_or_zero(self) -> "Traced":
        finite = _marks.above_minus_infinity(self.primal) & _marks.above_minus_infinity(-self.primal)
        return Traced(_marks.finite_or_zero(self.primal), [(self, lambda c: np.where(finite, c, 0.0))])

    def positive(self) -> "Traced":
        return Traced(_marks.positive(self.primal))

    def above_minus_infinity(self) -> np.ndarray:
        above: np.ndarray = _marks.above_minus_infinity(self.primal)
        return above

    def constant(self, x: np.ndarray) -> "Traced":
        return Traced(self.primal.constant(x) if hasattr(self.primal, "constant") else x)

    def joined(self, term: Any, n: int) -> "Traced":
        return _apply(lambda x, y: _marks.joined(x, y, n=n), (self, term), {}, "add")

    def chunked(self, other: Any) -> "Traced":
        return _apply(_marks.chunked, (self, other), {}, "matmul")

    def piled(self, axis: int) -> "Traced":
        return _apply(_marks.piled, (self,), {"axis": axis}, "sum")

    def below(self, limit: float, first: Any, second: Any, slack: float) -> "Traced":
        def choose(one: Any, other: Any) -> Any:
            return _marks.below(self.primal, limit, one, other, slack=slack)

        pulls = (lambda c: choose(c, 0 * c)), (lambda c: choose(0 * c, c))
        steps = [(x, pull) for x, pull in zip((first, second), pulls, strict=True) if isinstance(x, Traced)]
        return Traced(choose(_primal(first), _primal(second)), steps)

    def copied(self, count: int, axis: int) -> "Traced":
        """Return the copies. The cotangents of all copies of an entry are summed."""
        before, after = self.shape[: self.ndim + axis], self.shape[self.ndim + axis :]
        shape = (*before, after[0], count, *after[1:])
        steps = [(self, lambda c: _marks.summed_copies(np.reshape(c, shape), axis=axis))]
        return Traced(_marks.copied(self.primal, count, axis=axis), steps)

    def either(self, other: Any) -> "Traced":
        """Return the number. The cotangent goes back through the form that the equation has."""
        return Traced(_marks.either(self.primal, _primal(other)), [(self, lambda c: c)])

    def recur(self, *operands: Any) -> "Traced":
        plain, found = [_primal(x) for x in operands], dict[int, list[Any]]()

        def pull(c: Any, i: int) -> Any:
            if id(c) not in found:
                found[id(c)] = [
                    *_marks.as_a_whole(_recurrence.recur_vjp, c, *plain),
                    c,
                ]  # with c, whose id is kept so
            return found[id(c)][i]

        steps = [(x, lambda c, i=i: pull(c, i)) for i, x in enumerate(operands[:6]) if isinstance(x, Traced)]
        return Traced(_marks.as_a_whole(_recurrence.recur, *plain), steps)

    def largest(self, k: int) -> Any:
        return _choice.largest(self.primal, k)

    def in_top_groups(self, groups: int, top_groups: int, group_score: str) -> Any:
        return _choice.in_top_groups(self.primal, groups=groups, top_groups=top_groups, group_score=group_score)

    def recomputed(self, scores: Callable[..., Any], operands: Any, axis: int) -> Any:
        return Traced(_marks.float64(_marks.recomputed(scores, *map(_primal, operands), axis=axis)))


def _pass_on(name: str) -> Callable[..., Traced]:
    """Return the method of a mark that leaves the value as it is."""
    mark = getattr(_marks, name)

    def method(self: Traced, *others: Any) -> Traced:
        marked = getattr(self.primal, name)(*map(_primal, others)) if hasattr(self.primal, name) else self.primal
        return Traced(marked, [(self, mark if name in STORED else lambda c: c)])

    return method


for _name in (*SAME, *STORED):
    setattr(Traced, _name, _pass_on(_name))


# --- the rules: how a cotangent goes back through each NumPy function -------------------------------------------------


class _Rules:
    """The rules by the names of NumPy functions. Each has the result and the arguments of the function."""

    @staticmethod
    def add(z: Any, x: Any, y: Any) -> Sequence[Pull]:
        return (lambda c: c), (lambda c: c)

    @staticmethod
    def subtract(z: Any, x: Any, y: Any) -> Sequence[Pull]:
        return (lambda c: c), (lambda c: -c)

    @staticmethod
    def negative(z: Any, x: Any) -> Sequence[Pull]:
        return ((lambda c: -c),)

    @staticmethod
    def absolute(z: Any, x: Any) -> Sequence[Pull]:
        return ((lambda c: c * (_marks.positive(x) - _marks.positive(-x))),)

    @staticmethod
    def multiply(z: Any, x: Any, y: Any) -> Sequence[Pull]:
        return (lambda c: c * y), (lambda c: c * x)

    @staticmethod
    def square(z: Any, x: Any) -> Sequence[Pull]:
        return ((lambda c: c * (2 * x)),)

    @staticmethod
    def divide(z: Any, x: Any, y: Any) -> Sequence[Pull]:
        return (lambda c: c / y), (lambda c: -(c * z) / y)

    @staticmethod
    def sqrt(z: Any, x: Any) -> Sequence[Pull]:
        return ((lambda c: c / (2 * z)),)

    @staticmethod
    def exp(z: Any, x: Any) -> Sequence[Pull]:
        return ((lambda c: c * z),)

    @staticmethod
    def log(z: Any, x: Any) -> Sequence[Pull]:
        return ((lambda c: c / x),)

    @staticmethod
    def tanh(z: Any, x: Any) -> Sequence[Pull]:
        return ((lambda c: c * (1 - np.square(z))),)

    @staticmethod
    def sin(z: Any, x: Any) -> Sequence[Pull]:
        return ((lambda c: c * np.cos(x)),)

    @staticmethod
    def cos(z: Any, x: Any) -> Sequence[Pull]:
        return ((lambda c: -(c * np.sin(x))),)

    @staticmethod
    def power(z: Any, x: Any, y: Any) -> Sequence[Pull]:
        return (lambda c: c * (y * np.power(x, y - 1.0))), (lambda c: c * (z * np.log(x)))

    @staticmethod
    def maximum(z: Any, x: Any, y: Any) -> Sequence[Pull]:
        return (lambda c: c * _marks.positive(x - y)), (lambda c: c * (1 - _marks.positive(x - y)))

    @staticmethod
    def minimum(z: Any, x: Any, y: Any) -> Sequence[Pull]:
        return (lambda c: c * _marks.positive(y - x)), (lambda c: c * (1 - _marks.positive(y - x)))

    @staticmethod
    def rint(z: Any, x: Any) -> Sequence[Pull]:
        return (None,)

    @staticmethod
    def where(z: Any, condition: Any, x: Any, y: Any) -> Sequence[Pull]:
        return None, (lambda c: np.where(condition, c, 0.0)), (lambda c: np.where(condition, 0.0, c))

    @staticmethod
    def matmul(z: Any, x: Any, y: Any) -> Sequence[Pull]:
        """Rows and columns are made of vectors, so that one rule holds: dX = dZ Yᵀ, dY = Xᵀ dZ."""
        (n, m), row, column = (len(_shape(a)) for a in (x, y)), (1, -1), (-1, 1)
        a = np.reshape(x, row) if n == 1 else x
        b = np.reshape(y, column) if m == 1 else y

        def widen(c: Any) -> Any:
            c = np.reshape(c, (*c.shape, 1)) if m == 1 else c
            return np.reshape(c, (*c.shape[:-1], 1, c.shape[-1])) if n == 1 else c

        def to_left(c: Any) -> Any:
            return np.reshape(product_summed_to(widen(c), np.swapaxes(b, -1, -2), a.shape), x.shape)

        def to_right(c: Any) -> Any:
            return np.reshape(product_summed_to(np.swapaxes(a, -1, -2), widen(c), b.shape), y.shape)

        return to_left, to_right

    @staticmethod
    def sum(z: Any, x: Any, *, axis: int, keepdims: bool = False) -> Sequence[Pull]:
        return ((lambda c: np.broadcast_to(c if keepdims else np.expand_dims(c, axis=axis), x.shape)),)

    @staticmethod
    def mean(z: Any, x: Any, *, axis: int, keepdims: bool = False) -> Sequence[Pull]:
        (pull,) = _Rules.sum(z, x, axis=axis, keepdims=keepdims)
        return ((lambda c: pull(c / x.shape[axis])),)  # type: ignore[misc]

    @staticmethod
    def max(z: Any, x: Any, *, axis: int, keepdims: bool = False, initial: float = -np.inf) -> Sequence[Pull]:
        """Give the cotangent to the first of the largest entries. An initial value is taken for less than these."""
        is_largest = np.moveaxis(_choice.largest(np.moveaxis(x, axis, -1), 1) == np.arange(_shape(x)[axis]), -1, axis)
        (pull,) = _Rules.sum(z, x, axis=axis, keepdims=keepdims)
        return ((lambda c: np.where(is_largest, pull(c), 0.0)),)  # type: ignore[misc]


# --- steps --------------------------------------------------------------------------------------------------------------


def _apply(function: Callable[..., Any], args: Sequence[Any], options: dict[str, Any], name: str = "") -> Traced:
    """Apply a function, and keep how cotangents go back to those of its arguments that are traced."""
    plain = [_primal(x) for x in args]
    z = function(*plain, **options)
    pulls = getattr(_Rules, name or function.__name__)(z, *plain, **options)
    return Traced(
        z, [(x, _to_shape(pull, x.shape)) for x, pull in zip(args, pulls, strict=True) if isinstance(x, Traced) and pull]
    )


def _to_shape(pull: Callable[[Any], Any], shape: tuple[int, ...]) -> Callable[[Any], Any]:
    return lambda c: summed_to(pull(c), shape)


def _move(function: Callable[[Any], Any], parts: list[Any], arrange: Callable[[list[Any]], Any]) -> Traced:
    """Move the elements of arrays. Each element of the result knows the number of the one that it is; others have -1."""
    numbers, total, starts = [], 0, []
    for part in parts:
        count, shape = (part.size if isinstance(part, Traced) else 0), _shape(part)
        starts.append(total)
        numbers.append(np.reshape(np.arange(total, total + count), shape) if count else np.full(shape, -1))
        total += count
    moved = np.asarray(function(arrange(numbers)))
    steps = [
        (part, lambda c, start=start, shape=part.shape: _take_back(c, np.ravel(moved) - start, shape))
        for part, start in zip(parts, starts, strict=True)
        if isinstance(part, Traced)
    ]
    return Traced(function(arrange([_primal(part) for part in parts])), steps)


def _take_back(c: Any, numbers: np.ndarray, shape: tuple[int, ...]) -> Any:
    """Return for each element of an array the sum over the elements of c that it became.

    numbers: of each element of c, which element it was.
    """
    n = math.prod(shape)
    inside = np.flatnonzero((numbers >= 0) & (numbers < n))
    order = inside[np.argsort(numbers[inside], kind="stable")]
    counts = np.bincount(numbers[order], minlength=n)
    most = int(np.max(counts, initial=0))
    if not most:
        return c.constant(np.zeros(shape)) if hasattr(c, "constant") else np.zeros(shape)
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.zeros((n, most), dtype=np.intp)
    table[numbers[order], place] = order
    terms = np.where(np.arange(most) < counts[:, None], np.reshape(c, (-1,))[table], 0.0)
    return np.reshape(terms[:, 0] if most == 1 else np.sum(terms, axis=-1), shape)


def _go_back(ends: Iterable[tuple[Any, Any]]) -> dict[int, Any]:
    """Return the cotangent of each array by its id, from those of the results."""
    found: dict[int, Any] = {}
    results = [(result, c) for result, c in ends if isinstance(result, Traced) and c is not None]
    for result, c in results:
        _join(found, result, _marks.float64(c))
    for traced in _order([result for result, _ in results]):
        for source, pull in traced.steps:
            _join(found, source, pull(found[id(traced)]))
    return found


def _join(found: dict[int, Any], traced: Traced, c: Any) -> None:
    found[id(traced)] = found[id(traced)] + c if id(traced) in found else c


def _order(results: Sequence[Traced]) -> list[Traced]:
    """Return the arrays that lead to results, each before those that it was computed from."""
    done: dict[int, Traced] = {}
    stack = [(result, iter(result.steps)) for result in results]
    seen = {id(result) for result in results}
    while stack:
        traced, steps = stack[-1]
        source = next((source for source, _ in steps if id(source) not in seen), None)
        if source is None:
            stack.pop()
            done.setdefault(id(traced), traced)
        else:
            seen.add(id(source))
            stack.append((source, iter(source.steps)))
    return list(done.values())[::-1]


def _map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """Apply a function to each array of a dict, or of a list that holds arrays or dicts."""
    if isinstance(tree, dict):
        return {name: _map_leaves(function, x) for name, x in tree.items()}
    if isinstance(tree, list | tuple) and any(isinstance(x, dict | np.ndarray) or _has_own_type(x) for x in tree):
        return [_map_leaves(function, x) for x in tree]
    return function(tree)


def _trace(x: Any) -> Any:
    """Return an argument that can be differentiated as one that is traced, another one as it is."""
    if _has_own_type(x):
        return Traced(x)
    is_array = isinstance(x, np.ndarray | np.generic | float | list | tuple)
    return Traced(_marks.float64(x)) if is_array and np.asarray(x).dtype.kind == "f" else x


def _has_own_type(x: Any) -> bool:
    return hasattr(x, "__array_ufunc__") and not isinstance(x, np.ndarray | np.generic)


def _primal(x: Any) -> Any:
    return x.primal if isinstance(x, Traced) else x


def _is_test(ufunc: np.ufunc) -> bool:
    """Whether a function answers yes or no, so that it has no derivative."""
    return ufunc.types[-1].endswith("?") or ufunc.__name__.startswith(("is", "logical", "greater", "less", "equal", "not_equal"))


def _shape(x: Any) -> tuple[int, ...]:
    """Return the shape of an array of any number type."""
    return tuple(x.shape) if hasattr(x, "shape") else np.shape(x)


def _zeros(x: Traced) -> Any:
    return x.primal.constant(np.zeros(x.shape)) if hasattr(x.primal, "constant") else np.zeros(x.shape)
