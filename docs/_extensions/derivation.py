"""How the bound of an operation derives itself: the steps that its equation takes on one call, and the error after each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from meta_tests.support.in_process import backend
from meta_tests.support.random_draw import RandomDraw
from spec_tests.bounds.bounded import Bounded
from spec_tests.bounds.expectation import expect
from spec_tests.bounds.rules import RULES
from spec_tests.bounds.sampled_error import sampled_error
from spec_tests.calls.call import Call
from spec_tests.calls.gradient import Gradient
from spec_tests.calls.operation import Operation
from spec_tests.specification.formats import FORMATS, PRECISIONS, Arithmetic
from spec_tests.specification.pytree import leaves
from spec_tests.specification.registry import specification

ROOT = Path(__file__).parents[2]
EQUATIONS = (ROOT / "reference_numpy", ROOT / "spec_tests" / "operations")
SIZES = range(2, 4096)  # of a result: neither a single number nor long
ORDINARY = (1 / 32, 32.0)  # the sizes of most numbers
MANY = 16  # more steps than that are told part by part
SILENT = ("negative", "absolute", "where", "max", "maximum")  # they round nothing


@dataclass(frozen=True)
class Step:
    what: str
    part: str  # the equation whose line it is
    own: float  # the largest part of most elements: medians, in units of u|z|
    total: float


@cache
def example(operation: str, dtype: str) -> Call:
    """The first of some random calls that is of ordinary size, on ordinary numbers."""
    spec = specification(operation)
    kind = Gradient if spec.is_gradient else Operation
    for seed in range(1000):
        call = RandomDraw(kind(spec, backend("spec_tests.deviations:OracleBackend"), dtype, spec.precision), seed).call()
        if call.value.size in SIZES and all(map(_ordinary, call.named.values())) and _claimed(call):
            return call
    raise LookupError(f"no example of {operation} is ordinary")


def _ordinary(argument: Any) -> bool:
    arrays = [x for _, x in leaves(argument) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]
    low, high = ORDINARY
    return all(x.size and min(x.shape, default=1) > 1 and low < np.median(np.abs(x)) <= np.max(np.abs(x)) < high for x in arrays)


def _claimed(call: Call) -> bool:
    """By the worst case, and, where that is shown beside it, by sampling."""
    sampled = call.operation.spec.composed and call.operation.dtype == "float32"
    return bool(np.all(call.expect("fused").claimed) and (not sampled or np.all(np.isfinite(_sampled(call)))))


def _sampled(call: Call) -> np.ndarray:
    return sampled_error(call.evaluate, call.evaluate(np.asarray), Arithmetic.of("float32"))


def steps(call: Call, arithmetic: Arithmetic) -> list[Step]:
    """What the equation does, in its order; rearrangements are no steps."""
    taken: list[Step] = []

    def watched(name: str, rule: Callable[..., Bounded], compute: Callable[..., Bounded]) -> Callable[..., Bounded]:
        def step(*operands: Any, **options: Any) -> Bounded:
            result = compute(*operands, **options)
            if name not in SILENT:
                exact = [x.exact() if isinstance(x, Bounded) else x for x in operands]
                u = arithmetic.compute.u
                taken.append(Step(name, _part(), _share(rule(*exact, **options), u), _share(result, u)))
            return result

        return step

    rules = {name: watched(name, rule, rule) for name, rule in RULES.items()}
    marks = {name: getattr(Bounded, name) for name in ("logistic", "normal_cdf")}
    functions = {name: watched(name.replace("_", " "), mark, mark) for name, mark in marks.items()}
    with mock.patch.dict(RULES, rules), mock.patch.multiple(Bounded, **functions), np.errstate(all="ignore"):
        call.evaluate(lambda x: Bounded.input(x, arithmetic))
    return taken


def _share(z: Bounded, u: float) -> float:
    """The median error, as a multiple of u|z|."""
    with np.errstate(all="ignore"):
        shares = z.error / (u * np.abs(z.value))
    known = shares[np.isfinite(shares)]
    return float(np.median(known)) if known.size else 0.0


def _part() -> str:
    """The nearest equation among those that are being evaluated, helpers left out."""
    frame = inspect.currentframe()
    while frame is not None:
        file = Path(frame.f_code.co_filename)
        if file.parent in EQUATIONS and not file.stem.startswith("_"):
            return file.stem
        frame = frame.f_back
    return ""


# --- in words ---------------------------------------------------------------------------------------------------------------


def derived(operation: str) -> Iterator[str]:
    """The section of the operation's page: the steps, and what the precision classes allow."""
    if specification(operation).precision == "exact" and not specification(operation).is_gradient:
        yield from ("Nothing is rounded: the result is compared exactly.", "")
        return
    call = example(operation, "float32")
    taken = steps(call, Arithmetic.of("float32"))
    if not taken:
        yield from ("No step of the equation rounds: what remains is the storing of the result.", "")
        return
    shapes = ", ".join(f"{name} {list(x.shape)}" for name, x in call.named.items() if isinstance(x, np.ndarray) and x.size)
    example_of = f"a call with {shapes}" if shapes else "one call"
    yield f"On {example_of}, in float32, the equation's lines take {len(taken)} steps."
    yield "[Each adds](../bounds.md) an error of its own to what its operands carry;"
    yield from (r"in units of $u\lvert z\rvert$, $u=2^{-24}$, medians over the elements:", "")
    yield from _table(taken)
    yield from _unless_conspiring(call)
    if not specification(operation).dtype:
        yield from _classes(operation)


def _table(taken: list[Step]) -> Iterator[str]:
    yield from ("| in | step | adds | error so far |", "|---|---|---:|---:|")
    many = len(taken) > MANY
    for part, group in groupby(taken, key=lambda step: step.part):
        together = list(group)
        if many and len(together) > 1:
            yield f"| `{part}` | {len(together)} steps | | {_written(together[-1].total)} |"
        else:
            yield from (f"| `{part}` | {step.what} | {_written(step.own)} | {_written(step.total)} |" for step in together)
    yield ""


def _unless_conspiring(call: Call) -> Iterator[str]:
    if call.operation.spec.composed:
        arithmetic = Arithmetic.of("float32")
        share = _written(_share(Bounded(call.value, _sampled(call), arithmetic), arithmetic.compute.u))
        yield "That is the worst case. Roundings do not conspire so: [sampled](../bounds.md),"
        yield from (f"the error is {share}, and the smaller is allowed.", "")


def _classes(operation: str) -> Iterator[str]:
    loosest = specification(operation).precision
    allowed = PRECISIONS[: PRECISIONS.index(loosest) + 1]
    yield from ("Before it is stored a result may be off by so many units $u$ of its own dtype:", "")
    yield from (f"| | {' | '.join(allowed)} |", f"|---|{'---:|' * len(allowed)}")
    for dtype in ("bfloat16", "float16"):
        call = example(operation, dtype)
        cells = [_of_class(call, dtype, precision) for precision in allowed]
        yield f"| {dtype} | {' | '.join(cells)} |"
    yield ""


def _of_class(call: Call, dtype: str, precision: str) -> str:
    arithmetic = Arithmetic.of(dtype, precision)
    known = expect(call.evaluate, arithmetic, arithmetic.storage, composed=call.operation.spec.composed, inexact=False)
    return _written(_share(Bounded(known.value, known.error, arithmetic), FORMATS[dtype].u))


def _written(x: float) -> str:
    return "0" if x == 0 else f"{x:.2g}" if x < 0.095 else f"{x:.1f}" if x < 10 else f"{x:.0f}" if x < 1e5 else f"{x:.1e}"
