"""Each rule is tight: it bounds what an error of its operands does to the result, and by no more than this does.

To first order the rule of a function must be its derivative times the error of the operand. Its own error must be what the source
of the error model says. The table below states both again, from the sources, so that a slip in either shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest

from reference_numpy._marks import logistic, normal_cdf
from spec_tests.bounds.bounded import Bounded
from spec_tests.bounds.error_model import EAGER_ERRORS, saturation
from spec_tests.bounds.registered_rules import RULES
from spec_tests.specification.formats import FORMATS, Arithmetic

ERROR = 2.0**-20  # of an operand: its square is far below it
FIRST_ORDER = 2.0**-12  # how much larger than to first order a bound may be for such an error: some hundred times ERROR
FREE = Arithmetic(FORMATS["float64"], FORMATS["float64"])  # its own errors are 2^-33 of ERROR
FLOAT32 = Arithmetic(FORMATS["float64"], FORMATS["float32"])
U = 2.0**-24
POINTS = (-7.0, -1.5, -0.5, 0.3, 1.0, 2.5, 6.0)

UNARY: dict[str, Callable[[Any], Any]] = {
    "negative": lambda x: -x, "absolute": abs, "square": lambda x: x * x, "sqrt": mpmath.sqrt, "exp": mpmath.exp,
    "log": mpmath.log, "tanh": mpmath.tanh, "sin": mpmath.sin, "cos": mpmath.cos,
    "logistic": lambda x: 1 / (1 + mpmath.exp(-x)), "normal_cdf": mpmath.ncdf,
}  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y, "subtract": lambda x, y: x - y, "multiply": lambda x, y: x * y, "divide": lambda x, y: x / y,
    "power": mpmath.power,
}  # fmt: skip
OF_POSITIVE = ("sqrt", "log", "power")
ULPS = {  # OpenCL C 3.0, section 7.4, of single and double precision; exp by Vulkan's 3 + 2|x|
    "divide": lambda x, y: 2.5, "sqrt": lambda x: 3, "exp": lambda x: 3 + 2 * abs(x), "log": lambda x: 3, "tanh": lambda x: 5,
    "power": lambda x, y: 16, "add": lambda x, y: 0.5, "subtract": lambda x, y: 0.5, "multiply": lambda x, y: 0.5,
    "square": lambda x: 0.5,
}  # fmt: skip


def apply(name: str, *operands: Bounded) -> Bounded:
    if name in ("logistic", "normal_cdf"):
        return getattr(operands[0], name)()
    return getattr(np, name)(*operands)


def measure_farthest(function: Callable[..., Any], points: tuple[float, ...], errors: tuple[float, ...]) -> float:
    """Return how far the value moves at most, over the ends of the operands' intervals."""
    with mpmath.workdps(60):
        ends = [[mpmath.mpf(x) - e, mpmath.mpf(x), mpmath.mpf(x) + e] for x, e in zip(points, errors, strict=True)]
        value = function(*map(mpmath.mpf, points))
        places = ends[0] if len(ends) == 1 else [(x, y) for x in ends[0] for y in ends[1]]
        return float(max(abs(function(*(p if isinstance(p, tuple) else (p,))) - value) for p in places))


@pytest.mark.parametrize("name", UNARY)
def test_an_error_passes_through_a_function_by_its_slope(name: str) -> None:
    for x in POINTS:
        if x > 0 or name not in OF_POSITIVE:
            bound = float(apply(name, Bounded(x, ERROR, FREE)).error)
            exact = measure_farthest(UNARY[name], (x,), (ERROR,))
            if name in ("sin", "cos"):  # whose slope is bounded by 1, whatever the argument is
                exact = ERROR
            assert exact <= bound <= exact * (1 + FIRST_ORDER) + 2.0**-45, (name, x, exact, bound)


@pytest.mark.parametrize("name", BINARY)
def test_errors_pass_through_an_operation_by_its_slopes(name: str) -> None:
    for x in POINTS:
        for y in POINTS:
            if x > 0 or name not in OF_POSITIVE:
                for errors in ((ERROR, 0.0), (0.0, ERROR), (ERROR, ERROR)):
                    bound = float(apply(name, Bounded(x, errors[0], FREE), Bounded(y, errors[1], FREE)).error)
                    exact = measure_farthest(BINARY[name], (x, y), errors)
                    rounding = 2.0**-45 * (1 + abs(float(BINARY[name](mpmath.mpf(x), mpmath.mpf(y)))))
                    assert exact - rounding <= bound, (name, x, y, exact, bound)
                    assert bound <= exact * (1 + FIRST_ORDER) + rounding, (name, x, y, exact, bound)


@pytest.mark.parametrize("error", [1e-3, 0.2, 3.0, math.inf])
@pytest.mark.parametrize("name", UNARY)
def test_a_large_error_is_bounded_too(name: str, error: float) -> None:
    for x in POINTS:
        if name in OF_POSITIVE and not x - error > 0:
            if x > 0:
                bound = float(apply(name, Bounded(x, error, FREE)).error)
                assert bound == math.inf or name == "sqrt", (name, x, bound)
            continue
        bound = float(apply(name, Bounded(x, error, FREE)).error)
        assert bound >= measure_farthest(UNARY[name], (x,), (error,)) * (1 - 1e-12) if error < math.inf else bound > 0


@pytest.mark.parametrize("name", ULPS)
def test_a_step_errs_by_what_its_source_says(name: str) -> None:
    for x in POINTS:
        operands = (x,) if name in UNARY else (x, 1.75)
        if x < 0 and name in OF_POSITIVE:
            continue
        made = apply(name, *(Bounded(operand, 0.0, FLOAT32) for operand in operands))
        expected = 2 * ULPS[name](*operands) * U * abs(float(made.value))  # an ulp is at most 2 u
        if name == "tanh" and 2 * abs(x) > saturation(FLOAT32.compute):
            expected = 0.0
        assert float(made.error) == pytest.approx(expected + FLOAT32.compute.tiny, rel=1e-9), (name, x)


@pytest.mark.parametrize(("name", "ulps"), [("sin", 4), ("cos", 4)])
def test_the_error_of_a_circular_function_is_relative_to_1(name: str, ulps: float) -> None:
    for x in POINTS:
        assert float(apply(name, Bounded(x, 0.0, FLOAT32)).error) == pytest.approx(2 * ulps * U, rel=1e-9)


@pytest.mark.parametrize("x", [-30.0, -3.0, 0.0, 0.5, 4.0])
def test_a_sigmoid_errs_by_its_two_formulas(x: float) -> None:
    z = float(logistic(x))
    by_exp = z * (2 * 2.5 + 2 + (1 - z) * (6 + 4 * abs(x)))  # 1 / (1 + e^-x): a quotient, a sum with its storing, an exp
    by_tanh = 2 * 5 / 2  # (1 + tanh(x / 2)) / 2
    assert float(Bounded(x, 0.0, FLOAT32).logistic().error) == pytest.approx((by_exp + by_tanh) * U, rel=1e-6)


@pytest.mark.parametrize("x", [-3.0, 0.0, 0.5, 2.0])
def test_a_normal_distribution_errs_by_its_error_function(x: float) -> None:
    z, density = float(normal_cdf(x)), math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    assert float(Bounded(x, 0.0, FLOAT32).normal_cdf().error) == pytest.approx((16 + z + 2 * abs(x) * density) * U, rel=1e-6)


def test_what_is_exact_has_no_error() -> None:
    def exactly(x: float) -> Bounded:
        return Bounded(x, 0.0, FLOAT32)

    tiny = FLOAT32.compute.tiny
    assert float(np.exp(exactly(0.0)).error) == tiny
    assert float(np.power(exactly(3.0), exactly(0.0)).error) == tiny
    assert float(np.tanh(exactly(90.0)).error) == tiny
    assert float(np.tanh(exactly(5.0)).error) > U
    assert float(exactly(200.0).logistic().error) <= 8 * U
    assert float(np.maximum(exactly(1.0), exactly(2.0)).error) == 0
    assert float((-exactly(1.0)).error) == float(np.abs(exactly(-1.0)).error) == 0
    assert float(np.exp(Bounded(0.0, U, FLOAT32)).error) >= 7 * U * U, "an operand that may differ from 0"


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_sum_errs_by_its_additions_and_a_product_by_its_terms(n: int) -> None:
    x, y = np.arange(1.0, n + 1), np.arange(2.0, n + 2)
    total = np.sum(Bounded(x, 0.0, FLOAT32), axis=0)
    assert float(total.error) == pytest.approx((n - 1) * U * x.sum() + FLOAT32.compute.tiny, rel=1e-9)
    product = Bounded(x, 0.0, FLOAT32) @ Bounded(y[:, None], 0.0, FLOAT32)
    underflow = n * FLOAT32.compute.tiny + FLOAT32.compute.tiny
    assert float(product.error[0]) == pytest.approx(n * U * float(x @ y) + underflow, rel=1e-9)
    mean = np.mean(Bounded(x, 0.0, FLOAT32), axis=0)
    assert float(mean.error) == pytest.approx(((n - 1) + 5) * U * x.mean(), rel=1e-5)


@pytest.mark.parametrize("n", [1, 4])
def test_each_product_below_the_normal_range_may_be_lost(n: int) -> None:
    tiny, factor = FLOAT32.compute.tiny, 2.0**-70
    product = Bounded(np.full(n, factor), 0.0, FLOAT32) @ Bounded(np.full((n, 1), factor), 0.0, FLOAT32)
    assert float(product.error[0]) == pytest.approx((n + 1) * tiny, rel=1e-3), "and the sum, when it is stored"
    nothing = Bounded(np.zeros(n), 0.0, FLOAT32) @ Bounded(np.ones((n, 1)), 0.0, FLOAT32)
    assert float(nothing.error[0]) == 0


def test_the_errors_of_both_sides_pass_through_a_matrix_product() -> None:
    x, y = np.array([[1.0, -2.0, 3.0]]), np.array([[0.5], [4.0], [-1.0]])
    left = Bounded(x, ERROR, FREE) @ Bounded(y, 0.0, FREE)
    right = Bounded(x, 0.0, FREE) @ Bounded(y, ERROR, FREE)
    both = Bounded(x, ERROR, FREE) @ Bounded(y, ERROR, FREE)
    assert float(left.error[0, 0]) == pytest.approx(ERROR * 5.5, rel=1e-6)
    assert float(right.error[0, 0]) == pytest.approx(ERROR * 6.0, rel=1e-6)
    assert float(both.error[0, 0]) == pytest.approx(ERROR * 11.5 + 3 * ERROR**2, rel=1e-6)


def test_a_choice_between_two_numbers_has_one_error() -> None:
    x, y = Bounded([1.0, 5.0], [0.25, 0.0], FREE), Bounded([2.0, 3.0], [0.5, 0.125], FREE)
    assert np.maximum(x, y).error.tolist() == np.minimum(x, y).error.tolist() == [0.5, 0.125]
    assert np.where(np.array([True, False]), x, y).error.tolist() == [0.25, 0.125]
    assert np.max(x, axis=0).error.tolist() == 0.25
    assert np.rint(Bounded([0.4, 0.6, 2.0], [0.2, 0.2, 0.1], FREE)).error.tolist() == [1.0, 1.0, 0.0]


def test_every_rule_is_tried_here() -> None:
    others = {"matmul", "sum", "mean", "maximum", "minimum", "where", "max", "rint"}
    assert {name.strip("_") for name in RULES} == others | (UNARY.keys() | BINARY.keys()) - {"logistic", "normal_cdf"}


# --- storing, and the marks of the equations -------------------------------------------------------------------------


EAGER = Arithmetic.of("bfloat16", "eager")
MIXED = replace(EAGER, precision="mixed")
STORED = FORMATS["bfloat16"].u


@pytest.mark.parametrize(
    ("arithmetic", "stores_steps", "stores_tensors"),
    [(EAGER, True, True), (MIXED, False, True), (replace(EAGER, precision="fused"), False, False)],
)
def test_a_class_stores_what_it_says(arithmetic: Arithmetic, stores_steps: bool, stores_tensors: bool) -> None:
    x, one = Bounded(1.0, 0.0, arithmetic), Bounded(2.0, 0.0, arithmetic)
    stored = 3.0 * STORED + 3.0 * U
    assert float((x + one).error) == pytest.approx(stored if stores_steps else 3.0 * U, rel=1e-4)
    assert float((x.wide() + one.wide()).error) == pytest.approx(3.0 * U, rel=1e-4)
    assert float(x.rounded().error) == pytest.approx(STORED if stores_tensors else 0.0, rel=1e-4)
    assert float(x.eager().error) == pytest.approx(STORED if stores_steps else 0.0, rel=1e-4)
    assert float(x.returned().error) == pytest.approx(STORED, rel=1e-4)


def test_copies_may_be_stored_and_summed_in_any_order() -> None:
    """Three gradients are stored, and two sums of at most their sizes; a partial sum may overflow where the sum does not."""
    x = Bounded([[8.0, 3e38], [4.0, 3e38], [-4.0, -3e38]], 0.0, MIXED)
    total = x.summed_copies(0)
    assert total.value.tolist()[0] == 8.0
    assert float(total.error[0]) == pytest.approx((1 + 2) * 16 * STORED, rel=1e-2)
    assert float(total.error[1]) == np.inf
    fused = Bounded([8.0, 4.0, -4.0], 0.0, replace(EAGER, precision="fused"))
    assert float(fused.summed_copies(0).error) == float(np.sum(fused, axis=0).error)


def test_the_marks_add_the_roundings_that_they_name() -> None:
    x = Bounded(4.0, 0.0, FLOAT32)
    assert float(x.in_bits().error) == pytest.approx(4 * 4 * U, rel=1e-6)
    assert float(x.through_quotient().error) == pytest.approx(2 * 4 * U, rel=1e-6)
    assert float(x.interpolated(Bounded(1.0, 0.0, FLOAT32), Bounded(-6.0, 0.0, FLOAT32)).error) == pytest.approx(3 * 7 * U)
    assert float(x.joined(Bounded(2.0, 0.0, FLOAT32), 5).error) == pytest.approx((6 + 5 * 2) * U, rel=1e-6)
    either = Bounded([4.0, 4.0], [3.0, 0.0], FLOAT32).either(Bounded([4.0, 5.0], [1.0, 2.0], FLOAT32))
    assert (either.value.tolist(), either.error.tolist()) == ([4.0, 4.0], [3.0, 3.0])
    assert float(x.round_literal(0.1).error) == pytest.approx(0.1 * U)
    assert float(x.round_literal(0.5).error) == 0
    assert float(x.round_literal(1e39).error) == math.inf
    assert float(Bounded(4.0, 0.25, FLOAT32).exact().error) == 0


def test_a_term_that_occurs_often_is_allowed_a_rounding_each_time() -> None:
    """The terms are 4 and 3, and 2 as often as is counted: u (m + c - 1) (4 + 3) + u (m c + c (c + 1) / 2 - 1) 2, with m = 2."""
    counts = np.array([0.0, 1.0, 2.0, 5.0])
    expected = [7.0, 7 * 2 + 2 * 2, 7 * 3 + 2 * (4 + 2), 7 * 6 + 2 * (10 + 14)]
    fused, eager = (Bounded([4.0] * 4, 0.0, kind).tallied([-3.0], Bounded(-2.0, 0.0, kind), counts) for kind in (FLOAT32, EAGER))
    assert fused.value.tolist() == [1.0, -1.0, -3.0, -9.0]
    assert (fused.error / U).tolist() == pytest.approx(expected, rel=1e-6)
    assert (eager.error >= np.array(expected) * STORED).all()
    infinite = Bounded([-math.inf], 0.0, FLOAT32).tallied([], 0.5, np.array([3.0]))
    assert (infinite.value.tolist(), infinite.error.tolist()) == ([-math.inf], [0.0])


def test_a_sign_is_open_where_its_error_reaches_zero() -> None:
    x = Bounded([2.0, 1.0, -1.0, 0.5], [1.5, 1.0, 0.5, 0.75], FREE).positive()
    assert x.value.tolist() == [1.0, 1.0, 0.0, 1.0]
    assert x.error.tolist() == [0.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize("name", ["logistic", "normal_cdf"])
def test_unfused_code_stores_each_step_of_a_function(name: str) -> None:
    x, f = 0.5, EAGER.storage
    z, density = float(getattr(Bounded(x, 0.0, FREE), name)().value), math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    own = (1 + z * (3 - z)) if name == "logistic" else (1 + 2 * z + 2 * x * density)
    bound = float(getattr(Bounded(x, 0.0, EAGER), name)().error)
    assert bound == pytest.approx((own + z) * f.u, rel=1e-2)


def test_unfused_code_may_overflow_in_the_exponential_of_a_sigmoid() -> None:
    """Where e^-x is within a factor e of the largest number of the format in which it is stored, the quotient may be 0."""
    f, own = FORMATS["float16"], EAGER_ERRORS["logistic"]
    top = math.log(f.max)
    for x in (-top - 5, -top, -top + 0.99):
        assert own(0.25, x, f) == 0.25
    assert own(0.25, -top + 1.01, f) == pytest.approx((1 + 0.25 * 2.75) * f.u)


def test_an_overflow_claims_nothing_unless_an_operand_is_infinite() -> None:
    largest, top = FLOAT32.compute.max, Bounded(FLOAT32.compute.max, 0.0, FLOAT32)
    assert float((top + top).error) == math.inf
    assert float((top * Bounded(0.999999999, 0.0, FLOAT32)).error) == math.inf, "near to overflow"
    assert math.isfinite(float((top * Bounded(0.5, 0.0, FLOAT32)).error))
    assert float((Bounded(-math.inf, 0.0, FLOAT32) + top).error) == 0
    assert float(Bounded(-math.inf, 0.0, FLOAT32).returned().error) == 0
    assert float((top + top).value) == math.inf
    assert float(Bounded(largest, 0.0, FLOAT32).store(largest, 0.0, FLOAT32.compute).error) < math.inf


def test_a_subnormal_argument_may_be_read_as_zero() -> None:
    tiny = FLOAT32.compute.tiny
    assert Bounded.input([tiny / 4, tiny, -tiny / 2, 0.0], FLOAT32).error.tolist() == [tiny / 4, 0.0, tiny / 2, 0.0]
    float16 = FORMATS["float16"]
    small = Bounded(float16.tiny / 8, 0.0, replace(FLOAT32, storage=float16)).returned()
    assert float(small.error) <= float16.quantum, "float16 has subnormal numbers that float32 holds"


def test_what_is_held_lies_between_the_roundings_of_its_ends() -> None:
    held = Bounded([1.0, 1.0 + STORED], [0.0, 2 * STORED], FREE).held(FORMATS["bfloat16"])
    assert held.value.tolist() == [1.0, 1.0]
    assert held.error.tolist() == [0.0, 4 * STORED]
