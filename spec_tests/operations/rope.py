"""How rope is drawn."""

from typing import Any

import numpy as np

from reference_numpy.rope import rope
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import BATCHES, SIZES, SMALL, THETA, Draw, single
from spec_tests.specification.declaration import Declaration

EVEN_WIDTHS = (2, 4, 6, 8, 10, *(size for size in SIZES if size > 8 and size % 2 == 0), 256, 256)
LAYOUTS = ("interleaved", "half")
SECTION_LAYOUTS = ("chunked", "interleaved")

ATTENTION_FACTORS = single(1.2079, 2.0, 0.75, 1.0)  # the first one is YaRN's for a factor of 8


def draw_dims(draw: Draw, longest: int = 300) -> tuple[int, int]:
    """Draw n and d_k: few tokens or few features, sometimes as many of both."""
    least = min((0 if r is None else r for r in draw.operation.domain.get("rotary_dim", ())), default=0)
    widths = tuple(width for width in EVEN_WIDTHS if width >= least) or (least,)
    if draw.one_of((False, True)):
        n = draw.size("n", SMALL)
        return n, draw.size("d_k", widths[:6] if draw.long else widths)
    (n,) = draw.dims(n=longest)
    return n, draw.size("d_k", draw.shape.one_of((widths[:6], widths[:6], (n,) if n in widths else widths[:6])))


def require_positions(draw: Draw, *kinds: str) -> None:
    """Skip the law unless the backend's domain has arbitrary positions, or positions of one of these kinds."""
    kind = draw.operation.domain.get("positions", "arbitrary")
    if kind not in (*kinds, "arbitrary"):
        raise NotImplementedVariant(f"its domain has {kind} positions alone")


def draw_options(draw: Draw) -> dict[str, Any]:
    """Draw theta and layout, and section_layout if the domain excludes its default."""
    options, stated = draw.keyword("theta", THETA) | draw.keyword("layout", LAYOUTS), draw.operation.domain.get("section_layout")
    return options if stated is None or SECTION_LAYOUTS[0] in stated else options | draw.keyword("section_layout", stated)


def draw_rotary_dim(draw: Draw, d_k: int) -> dict[str, Any]:
    """Draw how many features are turned: none, all, half or a quarter of them, a pair, or all but a pair."""
    stated = draw.operation.domain.get("rotary_dim")
    if stated is not None:
        fitting = tuple(r for r in stated if r is None or r <= d_k)
        if not fitting:
            raise NotImplementedVariant(f"its domain has no rotary_dim up to d_k = {d_k}")
        taken = draw.operation.accepts("rotary_dim") or len(stated) == 1
        return {"rotary_dim": draw.one_of(fitting)} if taken else {}
    widths = {None, 0, 2, d_k, d_k // 4 * 2, d_k // 8 * 2, d_k - 2}
    return draw.keyword(
        "rotary_dim", tuple(sorted((w for w in widths if w is None or 0 <= w <= d_k), key=lambda w: (w is None, w)))
    )


def draw_frequencies(draw: Draw, r: int) -> dict[str, np.ndarray]:
    """Draw a frequency for each pair of r features: those of a theta, scaled, or in any order, with pairs that do not turn."""
    k = np.arange(r // 2)
    plain = np.power(draw.one_of(THETA), -2 * k / max(r, 1))
    scaled = np.where(k < draw.integer(0, r // 2), plain, plain / draw.one_of((8.0, 32.0, 2.5)))  # as yarn and llama3 do
    mixed = draw.rng.permutation(plain) * draw.rng.choice((1.0, 1.0, 0.5, 0.0), r // 2)  # 0: Gemma's proportional rotation
    frequencies = draw.one_of((0, 1, 2))
    return {
        "inverse_frequencies": draw.operation.argument_format("inverse_frequencies").round((plain, scaled, mixed)[frequencies])
    }


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    n, d_k = draw_dims(draw, 2049)
    batch = draw.batch(BATCHES)
    used, options = draw.variants("rotary_dim", "attention_factor", "inverse_frequencies"), draw_options(draw)
    if "rotary_dim" in used:
        options |= draw_rotary_dim(draw, d_k)
    if "attention_factor" in used:
        options |= draw.keyword("attention_factor", ATTENTION_FACTORS)
    if "inverse_frequencies" in used:
        r = options.get("rotary_dim")
        options |= draw_frequencies(draw, d_k if r is None else r)
    return (draw.vectors((*batch, n, d_k)), draw.positions(batch, n)), options


def draw_sections(draw: Draw, r: int) -> dict[str, Any]:
    """Draw how many of the pairs of r features turn by time, height and width, and how the pairs are distributed.

    Interleaved sections have the sizes that they state only if 3 s_h ≤ r/2 + 1 and 3 s_w ≤ r/2.
    """
    pairs, stated = r // 2, draw.operation.domain.get("sections")
    layouts = draw.operation.domain.get("section_layout", SECTION_LAYOUTS)
    given = {"section_layout": draw.one_of(layouts)} if draw.operation.accepts("section_layout") else {}
    if stated is not None:
        fitting = tuple(sections for sections in stated if sections is not None and sum(sections) == pairs)
        if not fitting:
            raise NotImplementedVariant(f"its domain has no sections of {pairs} pairs")
        return {"sections": draw.one_of(fitting), **given}
    if given.get("section_layout", layouts[0]) == "interleaved":
        height, width = (draw.one_of(sorted({most, most // 2, 0}, reverse=True)) for most in ((pairs + 1) // 3, pairs // 3))
    else:
        height = draw.one_of(sorted({pairs * 3 // 8, pairs // 3, pairs, 0}, reverse=True))
        width = draw.one_of(sorted({(pairs - height) // 2, (pairs - height) // 3, pairs - height, 0}, reverse=True))
    return {"sections": (pairs - height - width, height, width), **given}


def draw_three_axes(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw tokens of images and videos, for rope.sections: each has a position of time, of height and of width."""
    (x, positions), options = arguments(draw)
    domain = draw.operation.domain
    if not draw.operation.accepts("sections") or domain.get("positions", "arbitrary") != "arbitrary":
        return (x, positions), options
    r = options.get("rotary_dim")
    top = min(1 + domain.get("max_position", 4095), draw.one_of((40, 8, 4096)))
    places = draw.rng.integers(0, top, (3, *draw.one_of(((), x.shape[:-2])), x.shape[-2]))
    return (x, places), options | draw_sections(draw, x.shape[-1] if r is None else r)


def draw_turned_back(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw negative positions, for rope.inverse. A domain with a largest position is that of a table, which begins at 0."""
    (x, positions), options = arguments(draw)
    domain = draw.operation.domain
    turns = domain.get("positions", "arbitrary") == "arbitrary" and "max_position" not in domain
    return (x, -positions if turns else positions), options


declaration = Declaration(
    equation=rope,
    arguments=arguments,
    core={"x": 2, "positions": 1},
    branches={"turned back": draw_turned_back, "sections": draw_three_axes},
    wide_arguments=("inverse_frequencies",),
    constant_arguments=("inverse_frequencies",),
    choices={"layout": LAYOUTS, "section_layout": SECTION_LAYOUTS},
    leading_axes={"positions": "sections"},
    changeable=("attention_factor",),
    linear=("x",),
)
