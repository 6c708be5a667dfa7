"""Each elementary function, in each form that libraries compute it by, stays inside its bound over all exponents of float32.

The forms round each step correctly, so that their errors are those of the form alone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference_numpy
from reference_numpy._marks import beside_one, logistic, normal_cdf
from reference_numpy.gelu import gelu
from reference_numpy.silu import silu
from spec_tests.bounds.bounded import Bounded
from spec_tests.calls.gradient import Gradient
from spec_tests.specification.formats import FORMATS, Arithmetic
from spec_tests.specification.registry import specification

from ..support.in_process import backend

FLOAT32 = FORMATS["float32"]
FUSED = Arithmetic("fused", FLOAT32)
r = FLOAT32.round  # each step of a form is rounded to float32
LOG2E, LN2 = (float(r(value)) for value in (math.log2(math.e), math.log(2)))
ROOT_HALF, ROOT_TWO_OVER_PI, CUBIC = (float(r(value)) for value in (math.sqrt(0.5), math.sqrt(2 / math.pi), 0.044715))
erf, erfc = (np.vectorize(function, otypes=[float]) for function in (math.erf, math.erfc))


def exp(x: Any) -> Any:
    return r(np.exp(x))


def exp_by_exp2(x: Any) -> Any:
    return r(np.exp2(r(x * LOG2E)))


def tanh(x: Any) -> Any:
    return r(np.tanh(x))


def sigmoid_by_exp(x: Any, exponential: Callable[[Any], Any] = exp) -> Any:
    return r(1 / r(1 + exponential(-x)))


def sigmoid_by_exp_of_both_signs(x: Any) -> Any:
    e = exp(-np.abs(x))
    return np.where(x >= 0, r(1 / r(1 + e)), r(e / r(1 + e)))


def sigmoid_by_tanh(x: Any) -> Any:
    return r(r(1 + tanh(x / 2)) / 2)


def sigmoid_by_half_tanh(x: Any) -> Any:
    return r(0.5 + r(0.5 * tanh(r(0.5 * x))))


def tanh_by_expm1(x: Any) -> Any:
    e = r(np.expm1(2 * np.abs(x)))
    return np.copysign(np.where(np.isinf(e), 1.0, r(e / r(e + 2))), x)


def tanh_by_negative_expm1(x: Any) -> Any:
    e = r(np.expm1(-2 * np.abs(x)))
    return np.copysign(r(-e / r(e + 2)), x)


def one_plus_tanh_by_exp(x: Any, exponential: Callable[[Any], Any] = exp) -> Any:
    return r(1 + r(1 - r(2 / r(exponential(2 * x) + 1))))


def one_plus_tanh_by_sigmoid(x: Any) -> Any:
    return r(1 + r(r(2 * sigmoid_by_exp(2 * x)) - 1))


def one_plus_tanh_by_ratio(x: Any) -> Any:
    e = exp(-2 * np.abs(x))
    return r(1 + np.copysign(r(r(1 - e) / r(1 + e)), x))


def cubic(x: Any) -> Any:
    return r(ROOT_TWO_OVER_PI * r(x + r(CUBIC * r(r(x * x) * x))))


def factored_cubic(x: Any) -> Any:
    return r(x * r(ROOT_TWO_OVER_PI + r(float(r(ROOT_TWO_OVER_PI * CUBIC)) * r(x * x))))


def gelu_by(one_plus_tanh: Callable[[Any], Any], argument: Callable[[Any], Any] = cubic) -> Callable[[Any], Any]:
    return lambda x: r(x * r(one_plus_tanh(argument(x)) / 2))


def gelu_by_sigmoid(x: Any) -> Any:
    return r(x * sigmoid_by_exp(r(2 * cubic(x))))


def gelu_by_sigmoid_and_quotient(x: Any) -> Any:
    return r(x / r(1 + exp(r(-2 * cubic(x)))))


def log_by_log1p(x: Any) -> Any:
    return np.where(np.abs(x - 1) < 0.5, r(np.log1p(x - 1)), r(np.log(x)))


def log_by_log2(x: Any) -> Any:
    return r(r(np.log2(x)) * LN2)


@dataclass(frozen=True)
class Function:
    """A function of the equations, the forms of it, and what it is defined on."""

    equation: Callable[[Any], Any]
    forms: dict[str, Callable[[Any], Any]]
    is_positive: bool = False  # whether its arguments are
    largest: float = 2.0**60  # magnitude of its arguments


FUNCTIONS = {
    "exp": Function(np.exp, {"exp": exp, "exp2(x log2 e)": exp_by_exp2}),
    "log": Function(
        np.log, {"log": lambda x: r(np.log(x)), "log1p(x - 1) near 1": log_by_log1p, "log2(x) log 2": log_by_log2}, True
    ),
    "sqrt": Function(np.sqrt, {"sqrt": lambda x: r(np.sqrt(x)), "x rsqrt(x)": lambda x: r(x * r(1 / np.sqrt(x)))}, True),
    "1 / sqrt": Function(
        lambda x: 1 / np.sqrt(x),
        {"1 / sqrt(x)": lambda x: r(1 / r(np.sqrt(x))), "rsqrt": lambda x: r(1 / np.sqrt(x))},
        is_positive=True,
    ),
    "sin": Function(np.sin, {"sin": lambda x: r(np.sin(x))}),
    "cos": Function(np.cos, {"cos": lambda x: r(np.cos(x))}),
    "tanh": Function(
        np.tanh,
        {"tanh": tanh, "expm1(2x) / (expm1(2x) + 2)": tanh_by_expm1, "-expm1(-2x) / (expm1(-2x) + 2)": tanh_by_negative_expm1},
    ),
    "1 + tanh": Function(
        lambda x: 1 + beside_one(np.tanh(x)),
        {
            "1 + tanh(x)": lambda x: r(1 + tanh(x)),
            "2 - 2 / (e^2x + 1)": one_plus_tanh_by_exp,
            "2 - 2 / (exp2(2x log2 e) + 1)": partial(one_plus_tanh_by_exp, exponential=exp_by_exp2),
            "2 sigmoid(2x)": one_plus_tanh_by_sigmoid,
            "1 + (1 - e^-2x) / (1 + e^-2x)": one_plus_tanh_by_ratio,
        },
    ),
    "logistic": Function(
        logistic,
        {
            "1 / (1 + e^-x)": sigmoid_by_exp,
            "1 / (1 + exp2(-x log2 e))": partial(sigmoid_by_exp, exponential=exp_by_exp2),
            "e^-|x|": sigmoid_by_exp_of_both_signs,
            "(1 + tanh(x/2)) / 2": sigmoid_by_tanh,
            "0.5 + 0.5 tanh(0.5 x)": sigmoid_by_half_tanh,
        },
    ),
    "normal_cdf": Function(
        normal_cdf,
        {
            "(1 + erf(x/sqrt 2)) / 2": lambda x: r(r(1 + r(erf(r(x * ROOT_HALF)))) / 2),
            "erfc(-x/sqrt 2) / 2": lambda x: r(r(erfc(r(-x * ROOT_HALF))) / 2),
        },
    ),
    "silu": Function(
        silu,
        {
            "x / (1 + e^-x)": lambda x: r(x / r(1 + exp(-x))),
            "x sigmoid(x)": lambda x: r(x * sigmoid_by_exp(x)),
            "x (1 + tanh(x/2)) / 2": lambda x: r(x * sigmoid_by_tanh(x)),
            "x/2 + x/2 tanh(x/2)": lambda x: r(x / 2 + r(x / 2 * tanh(x / 2))),
        },
    ),
    "gelu, none": Function(
        gelu,
        {
            "x (1 + erf(x/sqrt 2)) / 2": lambda x: r(x * r(r(1 + r(erf(r(x * ROOT_HALF)))) / 2)),
            "x erfc(-x/sqrt 2) / 2": lambda x: r(x * r(r(erfc(r(-x * ROOT_HALF))) / 2)),
        },
    ),
    "gelu, tanh": Function(
        partial(gelu, approximate="tanh"),
        {
            "tanh": gelu_by(lambda x: r(1 + tanh(x))),
            "tanh, factored": gelu_by(lambda x: r(1 + tanh(x)), factored_cubic),
            "1 - 2 / (e^2z + 1)": gelu_by(one_plus_tanh_by_exp),
            "1 - 2 / (e^2z + 1), factored": gelu_by(one_plus_tanh_by_exp, factored_cubic),
            "2 sigmoid(2z) - 1": gelu_by(one_plus_tanh_by_sigmoid),
            "x sigmoid(2z)": gelu_by_sigmoid,
            "x / (1 + e^-2z)": gelu_by_sigmoid_and_quotient,
        },
        largest=2.0**40,  # its cube is a float32
    ),
}
MANTISSAS = [32, pytest.param(2048, marks=pytest.mark.nightly)]  # of each exponent


def spread_arguments(function: Function, count: int) -> np.ndarray:
    """Return arguments of every exponent, with this many mantissas each, the same in each run."""
    mantissas = 1 + (np.arange(count) + np.random.default_rng(0).random(count)) / count
    exponents = np.arange(-126, 1 + math.log2(function.largest))
    x = r(np.ravel(mantissas * 2.0 ** exponents[:, None]))
    return x if function.is_positive else np.concatenate([x, -x, np.zeros(1)])


def compare(compute: Callable[[Any], Any], x: np.ndarray, bounded: Bounded) -> tuple[float, float]:
    """Return the largest share of the bound that a form uses, and the argument at which it does."""
    with np.errstate(all="ignore"):
        error = np.abs(compute(x) - bounded.value) - FLOAT32.quantum  # of the last rounding, where that is subnormal
        share = np.where(np.isinf(bounded.error) | (error <= 0), 0.0, error / bounded.error)
    worst = int(np.argmax(share))
    return float(share[worst]), float(x[worst])


@pytest.mark.parametrize("count", MANTISSAS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_form_of_a_function_stays_inside_its_bound(name: str, count: int) -> None:
    function = FUNCTIONS[name]
    x = spread_arguments(function, count)
    bounded = function.equation(Bounded.input(x, FUSED))
    for form, compute in function.forms.items():
        share, at = compare(compute, x, bounded)
        assert share <= 1, f"{form} errs by {share:.3g} times the bound at {at!r}"


def test_what_is_no_form_of_gelu_leaves_its_bound() -> None:
    """The comparison is able to fail: a tanh of six digits leaves the bound, and so does sigmoid(1.702 x)."""
    x = spread_arguments(FUNCTIONS["gelu, tanh"], 32)
    bounded = gelu(Bounded.input(x, FUSED), approximate="tanh")
    for form in (gelu_by(lambda z: r(1 + r(tanh(z) * (1 + 2e-6)))), lambda x: r(x * sigmoid_by_exp(r(1.702 * x)))):
        assert compare(form, x, bounded)[0] > 1


def test_a_form_by_the_exponential_function_needs_an_error_relative_to_1() -> None:
    """Without its mark, the bound of gelu's tanh form is too narrow for a form whose steps are all rounded correctly."""
    x = spread_arguments(FUNCTIONS["gelu, tanh"], 32)
    argument = Bounded.input(x, FUSED)
    inner = np.sqrt(2 / np.pi) * (argument + 0.044715 * (argument * argument * argument))
    unmarked, form = argument * (0.5 * (1 + np.tanh(inner))), gelu_by(one_plus_tanh_by_exp)
    assert 1 < compare(form, x, unmarked)[0] < 1.2
    assert compare(form, x, gelu(argument, approximate="tanh"))[0] < 1


def test_beside_one_adds_to_no_other_bound() -> None:
    """A tanh that stands alone, as that of a cap, keeps an error that is relative to itself."""
    x = np.array([2.0**-20, 0.5, 3.0])
    alone, marked = (f(np.tanh(Bounded.input(x, FUSED))) for f in (lambda t: t, beside_one))
    assert np.all(alone.error <= 10 * FLOAT32.u * np.tanh(x) * (1 + 1e-6))
    assert np.all(marked.error > alone.error)
    assert np.all(marked.error < 16 * FLOAT32.u)
    users = {path.stem for path in Path(reference_numpy.__file__).parent.glob("*.py") if "beside_one(" in path.read_text()}
    assert users == {"_marks", "gelu", "gelu_vjp"}


@pytest.mark.parametrize("gap", [744.5, 745.0])
def test_an_exponential_that_underflows_may_be_the_smallest_number(gap: float) -> None:
    """The equation shifts its exponent, and gets 0 where code of float64 gets a subnormal number. -inf still gives exactly 0."""
    operation = Gradient(specification("token_log_probs_vjp"), backend("numpy-cpu"), "float64", "fused")
    logits, p = np.array([0.0, -gap, -np.inf]), np.exp(-gap)
    call = operation.call((np.array(1.0), np.array(1.0)), logits, np.array(0), wrt="logits")
    expectation = call.expectation("fused")
    answer = np.array([-p * gap, p * (gap - 1), 0.0])
    assert p > 0
    assert np.exp(-gap - 1) == 0
    assert np.all(expectation.accepts(answer)), (expectation.value, expectation.error)
    assert expectation.error[2] == 0
