"""What goes wrong with rope: which features are turned, and how. Angles and positions have files of their own."""

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from reference_numpy._marks import eager, scaled, wide
from reference_numpy._sections import axis_of_each_pair
from reference_numpy.rope import rope

from . import deviation


def with_options(equation: Callable[..., Any]) -> Callable[..., Any]:
    """Return the equation of a deviation, applied to the first rotary_dim features and scaled by attention_factor.

    With sections each pair is that of the equation at the positions of its axis. An option that the equation takes itself is left
    to it. A deviation that does not take inverse_frequencies concerns theta, and does not show where they are given.
    """
    own = inspect.signature(equation).parameters

    def evaluate(
        x: Any,
        positions: Any,
        inverse_frequencies: Any = None,
        *,
        rotary_dim: int | None = None,
        attention_factor: float = 1.0,
        sections: tuple[int, int, int] | None = None,
        section_layout: str = "chunked",
        **options: Any,
    ) -> Any:
        r = x.shape[-1] if rotary_dim is None else rotary_dim
        if r == 0 and "rotary_dim" not in own:
            return x
        choices = {"rotary_dim": rotary_dim, "attention_factor": attention_factor}
        options |= {name: value for name, value in choices.items() if name in own}
        first = x if "rotary_dim" in own else x[..., :r]
        if inverse_frequencies is None:
            turn = partial(equation, first, **options)
        else:
            turn = partial(
                equation if "inverse_frequencies" in own else rope, first, inverse_frequencies=inverse_frequencies, **options
            )
        if sections is None:
            turned = turn(positions)
        else:
            axes = axis_of_each_pair(sections, section_layout=section_layout, pairs=r // 2)
            turned = _choose_axes([turn(p) for p in positions], join_pairs(axes, axes, options.get("layout", "interleaved")))
        turned = turned if "attention_factor" in own else scaled(turned, attention_factor)
        return turned if turned.shape[-1] == x.shape[-1] else np.concatenate([turned, x[..., r:]], axis=-1)

    return evaluate


def _choose_axes(turned: list[Any], axes: Any) -> Any:
    """Return features of the results that were turned by time, height and width: those of the axis of each feature."""
    axis = np.zeros(turned[0].shape[-1], dtype=int)
    axis[: axes.shape[-1]] = axes
    return np.where(axis == 0, turned[0], np.where(axis == 1, turned[1], turned[2]))


def with_frequencies(equation: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of theta or inverse_frequencies that passes the frequencies, whichever gives them, to an equation."""
    own = inspect.signature(equation)
    place = list(own.parameters).index("frequencies")

    @wraps(equation)
    def evaluate(*arguments: Any, theta: float = 10000.0, inverse_frequencies: Any = None, **options: Any) -> Any:
        given = arguments[place] if len(arguments) > place else inverse_frequencies
        frequencies = compute_frequencies(arguments[0].shape[-1], theta) if given is None else wide(given)
        return equation(*arguments[:place], frequencies, **options)

    parameters = list(own.parameters.values())
    parameters[place] = inspect.Parameter("inverse_frequencies", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
    parameters.insert(place + 1, inspect.Parameter("theta", inspect.Parameter.KEYWORD_ONLY, default=10000.0))
    evaluate.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return evaluate


def compute_frequencies(r: int, theta: Any) -> Any:
    return np.power(wide(theta), -np.arange(0, r, 2) / max(r, 1))


def compute_angles(positions: Any, frequencies: Any) -> Any:
    return wide(positions)[..., None] * frequencies


def cos_and_sin(angle: Any) -> tuple[Any, Any]:
    return eager(np.cos(angle)), eager(np.sin(angle))


def split_pairs(x: Any, layout: str) -> tuple[Any, Any]:
    half = x.shape[-1] // 2
    return (x[..., 0::2], x[..., 1::2]) if layout == "interleaved" else (x[..., :half], x[..., half:])


def join_pairs(a: Any, b: Any, layout: str) -> Any:
    if layout == "half":
        return np.concatenate([a, b], axis=-1)
    return np.reshape(np.stack([a, b], axis=-1), (*a.shape[:-1], 2 * a.shape[-1]))


@deviation(
    "reference", "pairs_are_independent", kind="convention", meant='domain = {"rope": {"layout": ("half",)}}',
    seen=("https://github.com/karpathy/nanochat/issues/264", "https://github.com/allenai/molmo/issues/49"),
)  # fmt: skip
@with_frequencies
def half_for_interleaved(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """the pairs are (k, k + d_k/2), layout half, where interleaved was asked for.

    Shows: d_k of 4 or more. Hides: d_k = 2, attention whose queries and keys share the mistake.
    """
    return rope(x, positions, frequencies, layout="half")


@deviation(
    "reference", "pairs_are_independent", kind="convention", meant='domain = {"rope": {"layout": ("interleaved",)}}',
    seen=("https://github.com/jmaczan/tiny-vllm/issues/4",),
)  # fmt: skip
@with_frequencies
def interleaved_for_half(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """the pairs are (2k, 2k+1), layout interleaved, where half was asked for.

    Shows: d_k of 4 or more. Hides: d_k = 2, attention whose queries and keys share the mistake.
    """
    return rope(x, positions, frequencies)


@deviation(
    "reference", "isometry", "distance_alone",
    seen=("https://github.com/raiyanyahya/how-to-train-your-gpt/pull/7", "https://github.com/facebookresearch/vjepa2/pull/15",
          "https://github.com/huggingface/diffusers/issues/13546"),
)  # fmt: skip
@with_frequencies
def table_of_the_other_layout(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """the table of angles is repeated as the other layout needs it, so that a pair's two features turn by different angles.

    Shows: lengths, which change. Hides: d_k = 2, position 0.
    """
    d_k = x.shape[-1]
    angle = compute_angles(positions, frequencies)
    table = np.concatenate([angle, angle], axis=-1) if layout == "interleaved" else np.repeat(angle, 2, axis=-1)
    cos, sin = cos_and_sin(table[..., :d_k])
    a, b = split_pairs(x, layout)
    return x * cos + join_pairs(-b, a, layout) * sin


@deviation(
    "reference", "position_zero",
    seen=("https://github.com/vllm-project/vllm-metal/pull/44", "https://github.com/nntile/nntile/pull/382"),
)  # fmt: skip
@with_frequencies
def not_interleaved_again(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """the pairs (2k, 2k+1) are turned, but the results stand in two halves.

    Shows: position 0, which must change nothing. Hides: attention alone, which a common order of features leaves.
    """
    if layout == "half":
        return rope(x, positions, frequencies, layout=layout)
    return np.concatenate(split_pairs(rope(x, positions, frequencies), layout), axis=-1)


@deviation("reference", "frequencies", kind="convention")
@with_frequencies
def clockwise(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """the turn is clockwise: the sines have the opposite sign.

    Shows: each element. Hides: lengths, and attention, which depends on the distance all the same.
    """
    return rope(x, -wide(positions), frequencies, layout=layout)


@deviation("reference", "isometry", "composition")
@with_frequencies
def both_sines_negative(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """both sines are subtracted: (a cos φ − b sin φ, b cos φ − a sin φ), which is no rotation.

    Shows: lengths, which change. Hides: position 0.
    """
    (a, b), (cos, sin) = split_pairs(x, layout), cos_and_sin(compute_angles(positions, frequencies))
    return join_pairs(a * cos - b * sin, b * cos - a * sin, layout)


@deviation("reference", "position_zero")
@with_frequencies
def sine_and_cosine_exchanged(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """sines and cosines are exchanged.

    Shows: position 0, which must change nothing. Hides: lengths, which are kept.
    """
    (a, b), (cos, sin) = split_pairs(x, layout), cos_and_sin(compute_angles(positions, frequencies))
    return join_pairs(a * sin - b * cos, a * cos + b * sin, layout)


@deviation("reference", "isometry")
@with_frequencies
def second_from_the_turned_first(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """the first feature of a pair is overwritten before the second is computed from it.

    Shows: lengths, which change. Hides: position 0, small angles.
    """
    (a, b), (cos, sin) = split_pairs(x, layout), cos_and_sin(compute_angles(positions, frequencies))
    turned = a * cos - b * sin
    return join_pairs(turned, turned * sin + b * cos, layout)


@deviation("reference", "layouts", kind="convention")
def first_half_alone(x: Any, positions: Any, *, theta: float = 10000.0, layout: str = "interleaved") -> Any:
    """only the first half of the features is turned, as with a partial rotary factor of ½.

    Shows: d_k of 4 or more. Hides: position 0, d_k = 2.
    """
    d = x.shape[-1] // 4 * 2 or 2
    return np.concatenate([rope(x[..., :d], positions, theta=theta, layout=layout), x[..., d:]], axis=-1)


@deviation("reference")
@with_frequencies
def last_pair_left(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """the last pair is not turned if the number of pairs is odd: a vector loop has no remainder.

    Shows: d_k = 6, 10, 14. Hides: multiples of 4, above all the usual 64 and 128.
    """
    y = rope(x, positions, frequencies, layout=layout)
    whole = x.shape[-1] // 4 * 2
    before, after = split_pairs(x, layout), split_pairs(y, layout)
    a, b = (np.concatenate([new[..., :whole], old[..., whole:]], axis=-1) for old, new in zip(before, after, strict=True))
    return join_pairs(a, b, layout)


@deviation("reference", "linear", kind="convention")
@with_frequencies
def rows_normalized_first(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved") -> Any:
    """each row is first divided by its root mean square, as attention with normalized queries and keys does.

    Shows: lengths, position 0. Hides: rows whose mean square is 1.
    """
    normalized = x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + 1e-6)
    return rope(normalized, positions, frequencies, layout=layout)


@deviation("no_overflow", kind="arithmetic")
@with_frequencies
def length_apart(x: Any, positions: Any, frequencies: Any, *, layout: str = "interleaved", held: Any) -> Any:
    """each pair is divided by its length √(a² + b²), turned and multiplied by it again, and the squares overflow.

    Shows: numbers beyond the root of the dtype's largest. Hides: ordinary ones.
    """
    (a, b), (cos, sin) = split_pairs(x, layout), cos_and_sin(compute_angles(positions, frequencies))
    length = held(np.maximum(np.sqrt(held(held(np.square(a)) + held(np.square(b)))), 1e-6))
    a, b = held(a / length), held(b / length)
    return join_pairs(length * (a * cos - b * sin), length * (a * sin + b * cos), layout)


@deviation("inputs_unchanged", kind="fault", seen=("https://github.com/unslothai/unsloth/issues/837",))
def in_place(function: Any, x: Any, positions: Any, **keywords: Any) -> Any:
    """x itself is turned and returned, unless it is read-only.

    Shows: the caller's array after the call. Hides: the result, which is right.
    """
    y = function(x, positions, **keywords)
    if x.flags.writeable:
        x[...] = y
    return y


@deviation("dtype_shape_device", kind="fault", dtypes=("bfloat16", "float16"),
           seen=("https://github.com/huggingface/transformers/pull/24262",))  # fmt: skip
def promoted(function: Any, x: Any, positions: Any, **keywords: Any) -> Any:
    """the result is float32, as the table of angles is.

    Shows: the dtype of the result. Hides: its values.
    """
    return function(x, positions, **keywords).astype(np.float32 if x.dtype.itemsize == 2 else x.dtype)
