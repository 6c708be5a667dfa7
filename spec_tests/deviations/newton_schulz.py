"""What goes wrong with newton_schulz: the norm, the polynomial, and the sides of its products."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._unit_norm import frobenius_norm, of_unit_norm
from reference_numpy.newton_schulz import newton_schulz
from spec_tests.specification.formats import FORMATS

from . import deviation
from ._steps import make_rounder

JORDAN = (3.4445, -4.775, 2.0315)
WIDER_THAN_BFLOAT16 = ("float64", "float32")


def iterate(y: Any, steps: int, polynomial: Callable[[Any, Any], Any]) -> Any:
    """Return polynomial(X, X Xᵀ), iterated from y."""
    for _ in range(steps):
        y = polynomial(y, np.matmul(y, np.swapaxes(y, -1, -2)))
    return y


@deviation("reference", "singular_values")
def last_step_left_out(x: Any, *, steps: int = 5, **options: Any) -> Any:
    """one step is left out.

    Shows: one step and more. Hides: no step.
    """
    return newton_schulz(x, steps=max(steps - 1, 0), **options)


@deviation("reference", "singular_values")
def five_steps_always(x: Any, *, steps: int = 5, **options: Any) -> Any:
    """five steps are taken, whatever is given.

    Shows: another number of steps. Hides: five steps.
    """
    return newton_schulz(x, **options)


@deviation("reference", "singular_values")
def coefficients_ignored(x: Any, *, coefficients: Any = JORDAN, **options: Any) -> Any:
    """the coefficients are Jordan's, whatever is given.

    Shows: other coefficients. Hides: these, and no step.
    """
    return newton_schulz(x, **options)


@deviation("reference", "singular_values")
def cubic_alone(x: Any, *, coefficients: Any = JORDAN, **options: Any) -> Any:
    """the term of fifth degree is left out.

    Shows: coefficients whose third one is not 0. Hides: cubic ones, and no step.
    """
    return newton_schulz(x, coefficients=(*coefficients[:2], 0.0), **options)


@deviation("reference", "singular_values")
def polynomial_without_its_first_term(x: Any, *, coefficients: Any = JORDAN, **options: Any) -> Any:
    """the product is not added to a X, and stands alone.

    Shows: one step and more. Hides: no step, and zeros.
    """
    return newton_schulz(x, coefficients=(0.0, *coefficients[1:]), **options)


@deviation("reference", "rotations")
def gram_squared_by_entries(x: Any, *, steps: int = 5, coefficients: Any = JORDAN, eps: float = 1e-7) -> Any:
    """the entries of A are squared in place of the matrix: A * A for A @ A.

    Shows: matrices whose rows are not orthogonal. Hides: diagonal ones, and one row.
    """
    a, b, c = coefficients
    return iterate(of_unit_norm(x, eps), steps, lambda y, gram: a * y + np.matmul(b * gram + c * np.square(gram), y))


@deviation("reference", "rotations", "transpose")
def rows_of_unit_length(x: Any, *, steps: int = 5, coefficients: Any = JORDAN, eps: float = 1e-7) -> Any:
    """each row is divided by its own length, and not the matrix by its norm.

    Shows: two rows and more. Hides: one row.
    """
    a, b, c = coefficients
    start = x / (np.sqrt(np.sum(np.square(x), axis=-1, keepdims=True)) + eps)
    return iterate(start, steps, lambda y, gram: a * y + np.matmul(b * gram + c * np.matmul(gram, gram), y))


@deviation("reference", "rotations")
def divided_by_the_largest_entry(x: Any, *, steps: int = 5, coefficients: Any = JORDAN, eps: float = 1e-7) -> Any:
    """the matrix is divided by its largest magnitude, and not by its norm.

    Shows: two entries other than 0. Hides: one entry.
    """
    a, b, c = coefficients
    start = x / (np.max(np.max(np.abs(x), axis=-1, keepdims=True), axis=-2, keepdims=True) + eps)
    return iterate(start, steps, lambda y, gram: a * y + np.matmul(b * gram + c * np.matmul(gram, gram), y))


@deviation("reference", "singular_values", "muon_norm")
def eps_under_the_root(x: Any, *, steps: int = 5, coefficients: Any = JORDAN, eps: float = 1e-7) -> Any:
    """eps is added to the sum of squares, under the root.

    Shows: an eps that is not far smaller than the norm. Hides: the default eps beside matrices of norm 1.
    """
    a, b, c = coefficients
    start = x / np.sqrt(np.square(frobenius_norm(x)) + eps)
    return iterate(start, steps, lambda y, gram: a * y + np.matmul(b * gram + c * np.matmul(gram, gram), y))


@deviation("batch_independence")
def one_norm_for_the_batch(x: Any, *, steps: int = 5, coefficients: Any = JORDAN, eps: float = 1e-7) -> Any:
    """one norm is taken of all matrices of a batch.

    Shows: a batch. Hides: one matrix.
    """
    a, b, c = coefficients
    start = x / (np.sqrt(np.sum(np.sum(np.reshape(np.square(x), (1, -1)), axis=-1))) + eps)
    return iterate(start, steps, lambda y, gram: a * y + np.matmul(b * gram + c * np.matmul(gram, gram), y))


@deviation("odd")
def no_eps(x: Any, *, steps: int = 5, coefficients: Any = JORDAN, eps: float = 1e-7) -> Any:
    """the norm has no eps, so that a matrix of zeros gives NaN.

    Shows: zeros, and a norm near eps. Hides: a norm far above eps.
    """
    a, b, c = coefficients
    with np.errstate(all="ignore"):
        start = x / frobenius_norm(x)
        return iterate(start, steps, lambda y, gram: a * y + np.matmul(b * gram + c * np.matmul(gram, gram), y))


@deviation("reference", "singular_values")
def small_norm_kept(x: Any, *, steps: int = 5, coefficients: Any = JORDAN, eps: float = 1e-7) -> Any:
    """a matrix of a norm below 1 is not divided by it.

    Shows: a norm below 1. Hides: a larger one.
    """
    a, b, c = coefficients
    start = x / np.maximum(frobenius_norm(x), 1.0)
    return iterate(start, steps, lambda y, gram: a * y + np.matmul(b * gram + c * np.matmul(gram, gram), y))


def iterate_in_bfloat16(x: Any, *, steps: int = 5, coefficients: Any = JORDAN, eps: float = 1e-7) -> Any:
    """Return newton_schulz in bfloat16: the matrix, each product and each sum are rounded to it."""
    a, b, c = coefficients
    held = make_rounder(FORMATS["bfloat16"])

    def step(y: Any, gram: Any) -> Any:
        gram = held(gram)
        return held(a * y + held(np.matmul(held(b * gram + c * held(np.matmul(gram, gram))), y)))

    return iterate(held(of_unit_norm(held(x), eps)), steps, step)


@deviation("reference", "muon_compute", kind="arithmetic", dtypes=WIDER_THAN_BFLOAT16)
def wide_matrices_in_bfloat16(x: Any, **options: Any) -> Any:
    """matrices with more columns than rows are computed in bfloat16, and the others in their own dtype.

    Shows: such matrices. Hides: others, and bfloat16.
    """
    rows, columns = x.shape[-2:]
    return iterate_in_bfloat16(x, **options) if rows < columns else newton_schulz(x, **options)
