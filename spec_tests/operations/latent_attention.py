"""How latent_attention is drawn: few heads, a rank that is the width of no head, and lengths that differ by row."""

from typing import Any

import numpy as np

from reference_numpy.latent_attention import latent_attention
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw, single, within_domain
from spec_tests.specification.declaration import Declaration

QUERIES = (1, 2, 3, 5)
ROWS = (3, 5, 8, 1, 2, 17, 33)
WIDTHS = (4, 2, 3, 5, 8)
HEADS = (2, 1, 3, 4)
BATCHES = ((), (2,), (1,), (3,), (2, 2))
WITH_LENGTHS = ((2,), (3,), (1,))  # batches of one axis
SCALES = (None, None, None, *single(1.0, 0.125, 0.3, -0.6))


def draw_rows(draw: Draw, n: int, *, least: int = 1) -> int:
    """Draw m, which is n at least."""
    least = max(n, least)
    m = draw.size("m", tuple(m for m in ROWS if m >= least) or (least, least + 1))
    if m < least:
        raise NotImplementedVariant(f"its domain has no {least} rows")
    return m


def draw_lengths(draw: Draw, batch: tuple[int, ...], m: int, *, low: int) -> np.ndarray:
    """Draw how many rows each entry of the batch holds. Often one holds the fewest, and one all."""
    if len(batch) != 1:
        raise NotImplementedVariant("its domain has no batch of 1 dimension, which lengths need")
    lengths = np.asarray(draw.rng.integers(low, m + 1, batch))
    lengths[draw.integer(0, batch[0] - 1)] = draw.one_of((low, m))
    return lengths


def draw_arrays(
    draw: Draw, *, least: int = 1, batches: tuple[tuple[int, ...], ...] = BATCHES, rotated: bool = True
) -> tuple[np.ndarray, ...]:
    """Draw the six arrays, with n ≤ m and so many rows at least. Each size is another one where there are enough.

    rotated: whether there is a rotated part, which has d_r columns.
    """
    n = draw.size("n", QUERIES)
    m, h = draw_rows(draw, n, least=least), draw.size("h", HEADS)
    d_n, d_r, r, d_v = (draw.size(name, WIDTHS if rotated or name != "d_r" else (0,)) for name in ("d_n", "d_r", "r", "d_v"))
    if not rotated:
        within_domain(draw, d_r=0)
    if r == d_n:
        r = draw.size("r", tuple(size for size in WIDTHS if size != d_n))  # else the scale of r is that of d_n
    batch = draw.batch(batches)
    shapes = (*batch, h, n, d_n), (*batch, h, n, d_r), (*batch, m, r), (*batch, m, d_r)
    weights = (draw.normal((h, d, r), 1 / np.sqrt(r)) for d in (d_n, d_v))
    return (*(draw.vectors(shape) for shape in shapes), *weights)


def draw_options(draw: Draw) -> dict[str, Any]:
    return draw.keyword("scale", SCALES) | draw.keyword("is_causal", (True, True, False))


def with_lengths(draw: Draw) -> bool:
    """Whether the call has lengths: sometimes, if the function takes them, and a batch of one dimension."""
    return 1 in draw.operation.domain.get("batch_dims", (1,)) and "lengths" in draw.variants("lengths")


def lowest(keywords: dict[str, Any], n: int) -> int:
    """Return the least length at which every query sees a row."""
    return n if keywords.get("is_causal", True) else 1


def draw_inputs(draw: Draw, *, used: bool | None = None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a call in which every query sees a row. used: whether it has lengths; None: maybe."""
    used = with_lengths(draw) if used is None else used
    arrays, keywords = draw_arrays(draw, batches=WITH_LENGTHS if used else BATCHES), draw_options(draw)
    if not used:
        return arrays, keywords
    (n, _), m = arrays[0].shape[-2:], arrays[2].shape[-2]
    return (*arrays, draw_lengths(draw, arrays[2].shape[:-2], m, low=lowest(keywords, n))), keywords


def draw_blind_queries(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw lengths below the number of queries, one of them 0; or more queries than rows."""
    if draw.operation.accepts("lengths") and draw.one_of((True, False)):
        arrays = draw_arrays(draw, batches=WITH_LENGTHS)
        lengths = draw_lengths(draw, arrays[2].shape[:-2], arrays[0].shape[-2] - 1, low=0)
        lengths[draw.integer(0, len(lengths) - 1)] = 0
        return (*arrays, lengths), {}
    q_nope, q_rope, *others = draw_arrays(draw)
    more = others[0].shape[-2] + draw.integer(1, 2)
    draw.size("n", (more,))
    return (*(draw.vectors((*q.shape[:-2], more, q.shape[-1])) for q in (q_nope, q_rope)), *others), {}


def draw_unrotated(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a call without a rotated part, most of the time without a scale, too."""
    return draw_arrays(draw, rotated=False), draw_options(draw)


declaration = Declaration(
    equation=latent_attention,
    arguments=draw_inputs,
    core={"q_nope": 3, "q_rope": 3, "latent": 2, "k_rope": 2, "lengths": 0},
    composed=True,
    cost=2,
    results={"out": "", "lse": "wider"},
    open_questions={"fully_masked_rows": draw_blind_queries, "lse_base": lambda draw: draw_inputs(draw, used=False)},
    branches={"no rotated part": draw_unrotated},
    short=True,
    linear=("w_uv",),
)
