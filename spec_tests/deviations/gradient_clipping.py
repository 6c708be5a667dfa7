"""What goes wrong with gradient_clipping: which norm, over which arrays, and when the factor applies."""

from typing import Any

import numpy as np

from reference_numpy._marks import double
from reference_numpy.gradient_clipping import gradient_clipping

from . import HALF, deviation


def _scale_all(gradients: Any, norm: Any, max_norm: Any, eps: Any) -> Any:
    """Return the gradients, clipped as if this were their norm."""
    limit = double(max_norm)
    factor = 1.0 if double(norm) < limit else limit / (norm + double(eps))
    return [g * factor for g in gradients]


def _sum(x: Any) -> Any:
    return np.sum(np.reshape(x, (int(np.prod(x.shape)),)), axis=0)


def _norms(gradients: Any) -> list[Any]:
    return [np.sqrt(_sum(np.square(g))) for g in gradients]


@deviation(
    "reference",
    "one_factor",
    "any_division_into_arrays",
    seen=("https://github.com/huggingface/transformers/issues/581", "https://github.com/carpedm20/MemN2N-tensorflow/issues/19"),
)
def each_array_alone(gradients: Any, *, max_norm: Any, eps: Any = 1e-6) -> Any:
    """each array is clipped by its own norm.

    Shows: several arrays. Hides: one.
    """
    return [gradient_clipping([g], max_norm=max_norm, eps=eps)[0] for g in gradients]


@deviation("reference", "length", "any_division_into_arrays")
def norms_added(gradients: Any, *, max_norm: Any, eps: Any = 1e-6) -> Any:
    """the joint norm is the sum of the arrays' norms, not the root of their squares' sum.

    Shows: several arrays above the limit. Hides: one array.
    """
    return _scale_all(gradients, sum(_norms(gradients)), max_norm, eps)


@deviation("reference", "length", "any_division_into_arrays")
def norm_of_the_last_array(gradients: Any, *, max_norm: Any, eps: Any = 1e-6) -> Any:
    """the norm is that of the last array: the loop overwrites its total.

    Shows: several arrays. Hides: one.
    """
    return _scale_all(gradients, _norms(gradients)[-1], max_norm, eps)


@deviation("reference", "length", "any_division_into_arrays")
def largest_norm(gradients: Any, *, max_norm: Any, eps: Any = 1e-6) -> Any:
    """the norm is the largest of the arrays' norms.

    Shows: several arrays of like sizes. Hides: one array, and arrays of very different sizes.
    """
    return _scale_all(gradients, max(_norms(gradients), key=double), max_norm, eps)


@deviation("reference", "length")
def squares_without_the_root(gradients: Any, *, max_norm: Any, eps: Any = 1e-6) -> Any:
    """the sum of squares is used as the norm.

    Shows: norms other than 1. Hides: 1.
    """
    return _scale_all(gradients, sum(np.square(x) for x in _norms(gradients)), max_norm, eps)


@deviation("reference", "length")
def sum_of_sizes(gradients: Any, *, max_norm: Any, eps: Any = 1e-6) -> Any:
    """the norm is Σ|g|, not √Σg².

    Shows: several elements. Hides: one.
    """
    return _scale_all(gradients, sum(_sum(np.abs(g)) for g in gradients), max_norm, eps)


@deviation("reference", "length")
def root_of_the_mean(gradients: Any, *, max_norm: Any, eps: Any = 1e-6) -> Any:
    """the norm is the root of the mean square.

    Shows: several elements. Hides: one.
    """
    count = sum(int(np.prod(g.shape)) for g in gradients)
    return _scale_all(gradients, np.sqrt(sum(np.square(x) for x in _norms(gradients)) / count), max_norm, eps)


@deviation("reference", "one_factor")
def clipped_by_value(gradients: Any, *, max_norm: Any, eps: Any = 1e-6) -> Any:
    """each element is clipped to ± max_norm.

    Shows: a norm above the limit. Hides: single elements.
    """
    return [np.minimum(np.maximum(g, -double(max_norm)), double(max_norm)) for g in gradients]


@deviation("reference", "length")
def never_clipped(gradients: Any, *, max_norm: Any, eps: Any = 1e-6) -> Any:
    """the gradients are returned as they are.

    Shows: a norm above the limit. Hides: one below it.
    """
    return [g * 1.0 for g in gradients]


@deviation("reference", "below_the_limit")
def always_scaled(gradients: Any, *, max_norm: Any, eps: Any = 1e-6) -> Any:
    """gradients below the limit are scaled up to it.

    Shows: a norm below the limit. Hides: one above it.
    """
    norm = np.sqrt(sum(np.square(x) for x in _norms(gradients)))
    return [g * (double(max_norm) / (norm + double(eps))) for g in gradients]


@deviation("reference", "length")
def scaled_to_one(gradients: Any, *, max_norm: Any, eps: Any = 1e-6) -> Any:
    """what is above the limit gets a norm of 1, whatever the limit is.

    Shows: limits other than 1. Hides: 1.
    """
    norm = np.sqrt(sum(np.square(x) for x in _norms(gradients)))
    return [g * (1.0 if double(norm) < double(max_norm) else 1.0 / (norm + double(eps))) for g in gradients]


@deviation("reference", "length")
def limit_of_one(gradients: Any, *, max_norm: Any, eps: Any = 1e-6) -> Any:
    """the limit is 1, whatever is given.

    Shows: limits other than 1. Hides: 1.
    """
    return _scale_all(gradients, np.sqrt(sum(np.square(x) for x in _norms(gradients))), 1.0, eps)


@deviation("reference", "length")
def eps_inside_the_root(gradients: Any, *, max_norm: Any, eps: Any = 1e-6) -> Any:
    """eps is added to the sum of squares: √(Σg² + eps).

    Shows: an eps that is not much smaller than the norm. Hides: a small one.
    """
    norm = np.sqrt(sum(np.square(x) for x in _norms(gradients)) + double(eps))
    return _scale_all(gradients, norm, max_norm, 0.0)


@deviation(
    "reference",
    "length",
    kind="arithmetic",
    dtypes=HALF,
    seen=("https://github.com/facebookresearch/fairscale/pull/263", "https://github.com/tracel-ai/burn/issues/5699"),
)
def squares_not_upcast(gradients: Any, *, max_norm: Any, eps: Any = 1e-6, held: Any) -> Any:
    """the squares are computed in the dtype of the gradients: float16 overflows, the norm is inf, and the gradients become 0.

    Shows: float16 gradients above 256. Hides: small ones, float32.
    """
    squares = (_sum(held(np.square(g))) for g in gradients)
    return _scale_all(gradients, np.sqrt(held(sum(squares))), max_norm, eps)


@deviation(
    "reference",
    kind="arithmetic",
    dtypes=HALF,
    seen=("https://github.com/pytorch/torchtitan/pull/4135",),
)
def norms_not_upcast(gradients: Any, *, max_norm: Any, eps: Any = 1e-6, held: Any) -> Any:
    """each array's norm, and the norm of these, are stored in the dtype of the gradients, as PyTorch does.

    Shows: norms with more digits than the dtype has. Hides: float32.
    """
    norm = held(np.sqrt(sum(np.square(held(x)) for x in _norms(gradients))))
    return _scale_all(gradients, norm, max_norm, eps)


@deviation("reference", "length", "opposite_gradients")
def largest_element(gradients: Any, *, max_norm: Any, eps: Any = 1e-6) -> Any:
    """the norm is the largest element, its sign included.

    Shows: several elements, negative ones. Hides: a single positive element.
    """
    largest = max((np.max(np.reshape(g, (int(np.prod(g.shape)),)), axis=0) for g in gradients if np.prod(g.shape)), key=double)
    return _scale_all(gradients, largest, max_norm, eps)


# --- arrays of two dtypes -----------------------------------------------------------------------------------------------


@deviation("two_dtypes_in_one_list", kind="fault", dtypes=HALF)
def widest_dtype_for_all(right: Any, gradients: Any, **options: Any) -> Any:
    """all arrays are returned in the widest dtype of the list, as after a concatenation.

    Shows: dtypes that differ. Hides: one dtype for all.
    """
    widest = np.result_type(*gradients)
    return [g.astype(widest) for g in right(gradients, **options)]


@deviation("two_dtypes_in_one_list", kind="fault", dtypes=HALF)
def dtype_of_the_first_for_all(right: Any, gradients: Any, **options: Any) -> Any:
    """all arrays are returned in the dtype of the first.

    Shows: dtypes that differ. Hides: one dtype for all.
    """
    return [g.astype(gradients[0].dtype) for g in right(gradients, **options)]


@deviation("two_dtypes_in_one_list", kind="fault", dtypes=HALF)
def norm_of_each_dtype(right: Any, gradients: Any, **options: Any) -> Any:
    """arrays are put together by dtype for a fused kernel, and those of each dtype are clipped by their own norm.

    Shows: dtypes that differ. Hides: one dtype for all.
    """
    clipped = list(gradients)
    for dtype in dict.fromkeys(g.dtype for g in gradients):
        group = [i for i, g in enumerate(gradients) if g.dtype == dtype]
        for i, g in zip(group, right([gradients[i] for i in group], **options), strict=True):
            clipped[i] = g
    return clipped


@deviation("two_dtypes_in_one_list", kind="fault", dtypes=HALF)
def second_dtype_refused(right: Any, gradients: Any, **options: Any) -> Any:
    """a list of two dtypes is refused.

    Shows: dtypes that differ. Hides: one dtype for all.
    """
    if len({g.dtype for g in gradients}) > 1:
        raise RuntimeError("expected one dtype")
    return right(gradients, **options)
