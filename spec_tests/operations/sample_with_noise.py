"""How sample_with_noise is drawn: flat and peaked rows with zeros, and noise that lies at a sum, at its ends, or far off."""

from types import MappingProxyType
from typing import Any

import numpy as np

from reference_numpy.sample_with_noise import sample_with_noise
from spec_tests.inputs.draw import MANY_ROWS, Draw
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.formats import INTEGER

from .verify_draft import LARGEST_UNIFORM, draw_probabilities, draw_uniforms

METHODS = ("inverse", "exponential", "gumbel")
LONGEST = 1025  # vocabulary
EXTREMES = MappingProxyType({"exponential": 2.0**-100, "gumbel": 40.0})  # no draw in float32 has them

Drawn = tuple[tuple[Any, ...], dict[str, Any]]


def draw_rows(draw: Draw, *, longest: int = LONGEST) -> np.ndarray:
    """Draw rows of probabilities."""
    (vocab,) = draw.dims(vocab=longest)
    return draw.format.round(draw_probabilities(draw, (*draw.batch(MANY_ROWS), vocab)))


def draw_noise(draw: Draw, p: np.ndarray, method: str) -> np.ndarray:
    """Draw the noise of a method for rows of probabilities."""
    if method == "inverse":
        return draw_uniforms_at_sums(draw, p)
    u = draw.rng.uniform(2.0**-24, LARGEST_UNIFORM, p.shape)
    noise = -np.log(u) if method == "exponential" else -np.log(-np.log(u))
    forbidden = (p == 0) & (draw.rng.random(p.shape) < draw.one_of((0.0, 0.3, 1.0)))
    return draw.format.round(np.where(forbidden, EXTREMES[method], noise))


def draw_uniforms_at_sums(draw: Draw, p: np.ndarray) -> np.ndarray:
    """Draw uniforms, of which some lie at the middle of a token's share of the sums, or at its end."""
    u, sums = draw_uniforms(draw, p.shape[:-1]), np.cumsum(p, axis=-1)
    token = draw.rng.integers(0, p.shape[-1], (*p.shape[:-1], 1))
    end, share = (np.take_along_axis(x, token, axis=-1)[..., 0] for x in (sums, p))
    at = np.clip(end - draw.one_of((0.5, 0.5, 0.0)) * share, 0.0, LARGEST_UNIFORM)
    return draw.format.round(np.where(draw.rng.random(u.shape) < draw.one_of((0.0, 0.5)), at, u))


def arguments(draw: Draw) -> Drawn:
    p, given = draw_rows(draw), draw.keyword("method", METHODS)
    return (p, draw_noise(draw, p, given.get("method", METHODS[0]))), given


declaration = Declaration(
    equation=sample_with_noise,
    arguments=arguments,
    core={"probabilities": 1, "noise": 1},
    refused=("probabilities", "noise"),
    core_by={"method": {"inverse": {"noise": 0}}},
    precision="fused",
    dtypes=("float32", "float64"),
    results={"": INTEGER},
    chooses=True,
    choices={"method": METHODS},
    structure=("probabilities", "noise", "method"),  # distributions, and noise of the shape that the method needs
)
