"""How merge_attention_states is drawn."""

from typing import Any

import numpy as np

from reference_numpy.merge_attention_states import merge_attention_states
from spec_tests.inputs.draw import MANY_ROWS, Draw
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.formats import WIDER

GAPS = (1.0, 0.0, 10.0, 100.0, 1000.0)  # between the two lse: the larger, the less the other part shows


def draw_lse(draw: Draw, batch: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Draw the two lse, in the format in which they are given. They differ by little, by much or not at all."""
    hold = draw.operation.argument_format("lse_a").round
    middle = draw.rng.standard_normal(batch) * draw.one_of((3.0, 1.0, 30.0, 1000.0))
    half_gap = draw.rng.uniform(-0.5, 0.5, batch) * draw.one_of(GAPS)
    return hold(middle + half_gap), hold(middle - half_gap)


def draw_empty_parts(draw: Draw, batch: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Draw which rows of each part saw no key. What two such parts give is a convention, and not drawn here."""
    share = draw.one_of((0.0, 0.0, 0.3, 1.0))
    empty_a, empty_b = draw.rng.random(batch) < share, draw.rng.random(batch) < draw.one_of((0.0, 0.3))
    return empty_a, empty_b & ~empty_a


def spoil_empty(draw: Draw, out: np.ndarray, empty: np.ndarray) -> np.ndarray:
    """Return out with something else where a part saw no key: zeros, what else memory held, NaN or an infinity."""
    other = draw.one_of((0.0, np.nan, np.inf, -np.inf, draw.format.max))
    return np.where(empty[..., None], other, out)


def draw_states(draw: Draw) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw two parts that each saw a key."""
    (d_v,) = draw.dims(d_v=300)
    batch = draw.batch(MANY_ROWS)
    lse_a, lse_b = draw_lse(draw, batch)
    return draw.vectors((*batch, d_v)), lse_a, draw.vectors((*batch, d_v)), lse_b


def draw_empty_states(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw two parts of which some rows saw no key in either, whatever is in their out."""
    out_a, lse_a, out_b, lse_b = draw_states(draw)
    neither = np.asarray(draw.rng.random(lse_a.shape) < draw.one_of((0.5, 1.0)))
    neither.flat[0] = True
    out_a, out_b = spoil_empty(draw, out_a, neither), spoil_empty(draw, out_b, neither)
    return (out_a, np.where(neither, -np.inf, lse_a), out_b, np.where(neither, -np.inf, lse_b)), {}


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    out_a, lse_a, out_b, lse_b = draw_states(draw)
    empty_a, empty_b = draw_empty_parts(draw, lse_a.shape)
    out_a, out_b = spoil_empty(draw, out_a, empty_a), spoil_empty(draw, out_b, empty_b)
    return (out_a, np.where(empty_a, -np.inf, lse_a), out_b, np.where(empty_b, -np.inf, lse_b)), {}


declaration = Declaration(
    equation=merge_attention_states,
    arguments=arguments,
    core={"out_a": 1, "lse_a": 0, "out_b": 1, "lse_b": 0},
    results={"out": "", "lse": WIDER},
    wide_arguments=("lse_a", "lse_b"),
    open_questions={"fully_masked_rows": draw_empty_states, "lse_base": lambda draw: (draw_states(draw), {})},
    linear=("out_a", "out_b"),
)
