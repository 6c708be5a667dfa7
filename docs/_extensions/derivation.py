"""Show how the error bound of an operation is derived: the steps of its equation on one call, and the error after each step."""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from meta_tests.support.in_process import backend
from meta_tests.support.random_draw import RandomDraw
from spec_tests.bounds import bounded
from spec_tests.bounds.bounded import Bounded
from spec_tests.bounds.derivation import expect
from spec_tests.bounds.registered_rules import RULES
from spec_tests.bounds.sampled_error import sampled_error
from spec_tests.calls.call import Call
from spec_tests.calls.gradient import Gradient
from spec_tests.calls.operation import Operation
from spec_tests.implementation.backend import Backend
from spec_tests.specification.formats import FORMATS, PRECISIONS, Arithmetic
from spec_tests.specification.pytree import leaves
from spec_tests.specification.registry import specification

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".nox" / "derivations"
SOURCES = ("reference_numpy", "spec_tests", "meta_tests/support")
EQUATIONS = (ROOT / "reference_numpy", ROOT / "spec_tests" / "operations")
RESULT_SIZES = range(2, 4096)  # numbers in the result of an example with arrays
SCALAR_CALLS = 50  # calls without arrays, of which the example is the one in which the most steps carry an error
ORDINARY_MAGNITUDES = (1 / 32, 32.0)  # the smallest median and the largest number of an example's arrays
MAX_LISTED_STEPS = 16  # if there are more, the table has one line for each part
EXACT_STEPS = ("negative", "absolute", "where", "max", "maximum")  # functions that do not round


@dataclass(frozen=True)
class Step:
    """One step of an equation. Errors are medians over the elements, in units of u|z|."""

    name: str
    equation: str  # whose code takes the step
    own_error: float  # with exact operands
    total_error: float


@cache
def _oracle() -> Backend:
    return backend("spec_tests.deviations:OracleBackend")


@cache
def find_example(operation: str, dtype: str) -> Call:
    """Return the first random call of ordinary size, on ordinary numbers, whose bound claims every element.

    An operation without arrays has no sizes; its call is one in which the most steps carry an error, as branches may skip some.
    """
    spec = specification(operation)
    kind = Gradient if spec.is_gradient else Operation
    tested = kind(spec, _oracle(), dtype, spec.precision)
    calls = (RandomDraw(tested, seed).call() for seed in range(1000))
    first = next(calls)
    if not any(isinstance(x, np.ndarray) for argument in first.named.values() for _, x in leaves(argument)):
        arithmetic = Arithmetic.of(dtype)
        return max((first, *islice(calls, SCALAR_CALLS - 1)), key=lambda call: _rank_steps(record_steps(call, arithmetic)))
    for call in chain((first,), calls):
        if call.value.size in RESULT_SIZES and all(map(_is_ordinary, _list_judged(call))) and _is_claimed(call):
            return call
    raise LookupError(f"no example of {operation} is ordinary")


def _rank_steps(taken: list[Step]) -> tuple[int, float]:
    """Rank an example by how many of its steps carry an error, then by how small the largest of them is."""
    return sum(step.total_error > 0 for step in taken), -max((step.total_error for step in taken), default=0.0)


def _list_judged(call: Call) -> list[Any]:
    """Return the arguments that are to be ordinary: all of them, but for positive ones, of which there may be a single number."""
    return [x for name, x in call.named.items() if name not in call.operation.spec.declaration.positive]


def _is_ordinary(argument: Any) -> bool:
    arrays = [x for _, x in leaves(argument) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]
    low, high = ORDINARY_MAGNITUDES
    return all(x.size and min(x.shape, default=1) > 1 and low < np.median(np.abs(x)) <= np.max(np.abs(x)) < high for x in arrays)


def _is_claimed(call: Call) -> bool:
    """Whether the worst-case bound claims every element, and the sampled bound too, if the page shows it."""
    sampled = call.operation.spec.composed and call.operation.dtype == "float32"
    return bool(np.all(call.expect("fused").claimed) and (not sampled or np.all(np.isfinite(_sample_error(call)))))


def _sample_error(call: Call) -> np.ndarray:
    return sampled_error(call.evaluate, call.evaluate(np.asarray), Arithmetic.of("float32"))


def record_steps(call: Call, arithmetic: Arithmetic) -> list[Step]:
    """Evaluate the equation and return its steps in order. Functions that only rearrange are not listed."""
    taken: list[Step] = []

    def watch(name: str, rule: Callable[..., Bounded], compute: Callable[..., Bounded]) -> Callable[..., Bounded]:
        def take_step(*operands: Any, **options: Any) -> Bounded:
            result = compute(*operands, **options)
            if name not in EXACT_STEPS:
                exact = [x.exact() if isinstance(x, Bounded) else x for x in operands]
                u = arithmetic.compute.u
                taken.append(Step(name, _find_equation(), _median_error(rule(*exact, **options), u), _median_error(result, u)))
            return result

        return take_step

    rules = {name: watch(name, rule, rule) for name, rule in RULES.items()}
    marks = {name: getattr(Bounded, name) for name in ("logistic", "normal_cdf", "quotient", "stored")}
    functions = {name: watch(name.replace("_", " "), mark, mark) for name, mark in marks.items()}
    with (
        mock.patch.object(bounded, "RULES", rules),
        mock.patch.multiple(Bounded, **functions),
        np.errstate(all="ignore"),
    ):
        call.evaluate(lambda x: Bounded.input(x, arithmetic))
    return taken


def _median_error(z: Bounded, u: float) -> float:
    """Return the median error in units of u|z|."""
    with np.errstate(all="ignore"):
        shares = z.error / (u * np.abs(z.value))
    finite = shares[np.isfinite(shares)]
    return float(np.median(finite)) if finite.size else 0.0


def _find_equation() -> str:
    """Return the innermost equation on the stack. Helpers, whose files begin with _, do not count."""
    frame = inspect.currentframe()
    while frame is not None:
        file = Path(frame.f_code.co_filename)
        if file.parent in EQUATIONS and not file.stem.startswith("_"):
            return file.stem
        frame = frame.f_back
    return ""


# --- the section of the page ------------------------------------------------------------------------------------------


def keep_derivation(operation: str) -> str:
    """Return the section of an operation, which draws random calls: kept in .nox/derivations for as long as no source changes."""
    kept = KEPT / f"{operation}.md"
    head = f"<!-- of {hash_sources()} -->\n"
    if kept.exists() and (text := kept.read_text(encoding="utf-8")).startswith(head):
        return text.removeprefix(head)
    section = "\n".join(describe_derivation(operation))
    KEPT.mkdir(parents=True, exist_ok=True)
    (written := kept.with_suffix(f".{os.getpid()}")).write_text(head + section, encoding="utf-8")
    written.replace(kept)
    return section


@cache
def hash_sources() -> str:
    """Return a hash of everything on which a section depends: the sources that draw, evaluate and bound, and the versions."""
    found = hashlib.sha256(f"{sys.version} {np.__version__}".encode())
    for path in sorted([Path(__file__), *(path for folder in SOURCES for path in (ROOT / folder).rglob("*.py"))]):
        found.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return found.hexdigest()


def describe_derivation(operation: str) -> Iterator[str]:
    """Yield the lines of the section: the steps, and what the precision classes allow."""
    if specification(operation).precision == "exact" and not specification(operation).is_gradient:
        yield from ("Nothing is rounded: the result is compared exactly.", "")
        return
    call = find_example(operation, "float32")
    taken = record_steps(call, Arithmetic.of("float32"))
    if not taken:
        yield from ("No step of the equation rounds: what remains is the storing of the result.", "")
        return
    shapes = ", ".join(f"{name} {list(x.shape)}" for name, x in call.named.items() if isinstance(x, np.ndarray) and x.size)
    example_of = f"a call with {shapes}" if shapes else "one call"
    yield f"On {example_of}, in float32, the equation's lines take {len(taken)} steps."
    yield "[Each adds](../bounds.md) an error of its own to what its operands carry;"
    yield from (r"in units of $u\lvert z\rvert$, $u=2^{-24}$, medians over the elements:", "")
    yield from _format_table(taken)
    yield from _describe_sampling(call)
    if not specification(operation).dtype:
        yield from _describe_classes(operation)


def _format_table(taken: list[Step]) -> Iterator[str]:
    yield from ("| in | step | adds | error so far |", "|---|---|---:|---:|")
    by_equation = len(taken) > MAX_LISTED_STEPS
    for equation, group in groupby(taken, key=lambda step: step.equation):
        steps = list(group)
        if by_equation and len(steps) > 1:
            yield f"| `{equation}` | {len(steps)} steps | | {_format_number(steps[-1].total_error)} |"
        else:
            for step in steps:
                own, total = _format_number(step.own_error), _format_number(step.total_error)
                yield f"| `{equation}` | {step.name} | {own} | {total} |"
    yield ""


def _describe_sampling(call: Call) -> Iterator[str]:
    if call.operation.spec.composed:
        arithmetic = Arithmetic.of("float32")
        error = _format_number(_median_error(Bounded(call.value, _sample_error(call), arithmetic), arithmetic.compute.u))
        yield "That is the worst case. Roundings do not conspire so: [sampled](../bounds.md),"
        yield from (f"the error is {error}, and the smaller is allowed.", "")


def _describe_classes(operation: str) -> Iterator[str]:
    loosest = specification(operation).precision
    allowed = PRECISIONS[: PRECISIONS.index(loosest) + 1]
    yield from ("Before it is stored a result may be off by so many units $u$ of its own dtype:", "")
    yield from (f"| | {' | '.join(allowed)} |", f"|---|{'---:|' * len(allowed)}")
    for dtype in ("bfloat16", "float16"):
        call = find_example(operation, dtype)
        cells = [_median_error_in_class(call, dtype, precision) for precision in allowed]
        yield f"| {dtype} | {' | '.join(cells)} |"
    yield ""


def _median_error_in_class(call: Call, dtype: str, precision: str) -> str:
    arithmetic = Arithmetic.of(dtype, precision)
    expectation = expect(call.evaluate, arithmetic, arithmetic.storage, sampled=call.operation.spec.composed)
    return _format_number(_median_error(Bounded(expectation.value, expectation.error, arithmetic), FORMATS[dtype].u))


def _format_number(x: float) -> str:
    return "0" if x == 0 else f"{x:.2g}" if x < 0.095 else f"{x:.1f}" if x < 10 else f"{x:.0f}" if x < 1e5 else f"{x:.1e}"
