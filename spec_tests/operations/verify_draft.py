"""How verify_draft is drawn: drafts that are near to the target, far from it, equal to it, and of other tokens."""

from typing import Any

import numpy as np

from reference_numpy._acceptance import inverse
from reference_numpy.verify_draft import verify_draft
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.formats import INTEGER

LARGEST_UNIFORM = 1 - 2.0**-24
DRAFTS = ("near", "near", "equal", "any", "disjoint", "one-hot target")
COUNTS = (2, 3, 1, 5, 8, 0, 17)

Arrays = tuple[np.ndarray, np.ndarray | None, np.ndarray, np.ndarray, np.ndarray]


def draw_count(draw: Draw) -> int:
    """Draw how many tokens are drafted. There is one distribution of the target more."""
    if (stated := draw.operation.domain.get("m")) is None or isinstance(stated, str):
        n = draw.size("n", COUNTS)
        draw.drawn_sizes["m"] = n + 1
        return n
    m = draw.size("m", tuple(n + 1 for n in COUNTS))
    allowed = draw.operation.domain.get("n")
    if m < 1 or (allowed is not None and not isinstance(allowed, str) and m - 1 not in allowed):
        raise NotImplementedVariant(f"its domain has no n = {m - 1}")
    draw.drawn_sizes["n"] = m - 1
    return m - 1


def normalized(weights: np.ndarray) -> np.ndarray:
    return np.asarray(weights / np.sum(weights, axis=-1, keepdims=True))


def draw_probabilities(draw: Draw, shape: tuple[int, ...]) -> np.ndarray:
    """Draw rows of probabilities, flat or peaked, some of whose entries are 0."""
    weights = np.exp(draw.rng.standard_normal(shape) * draw.one_of((1.0, 0.1, 3.0)))
    weights = np.where(draw.rng.random(shape) < draw.one_of((0.0, 0.3, 0.6)), 0.0, weights)
    weights[..., -1] += np.sum(weights, axis=-1) == 0
    return normalized(weights)


def draw_uniforms(draw: Draw, shape: tuple[int, ...]) -> np.ndarray:
    """Draw uniforms of float32; sometimes those at the ends."""
    u = draw.rng.integers(0, 2**24, shape) * 2.0**-24
    ends = draw.rng.choice((0.0, LARGEST_UNIFORM), shape)
    return np.asarray(np.where(draw.rng.random(shape) < draw.one_of((0.0, 0.0, 0.3)), ends, u))


def draw_pair(draw: Draw, shape: tuple[int, ...], kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Draw the distributions of a draft and of the target."""
    q = draw_probabilities(draw, shape)
    p = draw_probabilities(draw, shape)
    if kind == "near":
        p = normalized(q * np.exp(0.3 * draw.rng.standard_normal(shape)))
    elif kind == "equal":
        p = q
    elif kind == "disjoint" and shape[-1] > 1:
        p, q = (normalized(np.where(np.arange(shape[-1]) % 2 == i, x + 1e-3, 0.0)) for i, x in enumerate((p, q)))
    elif kind == "one-hot target":
        p = np.where(np.arange(shape[-1]) == np.argmax(p, axis=-1)[..., None], 1.0, 0.0)
    return draw.format.round(q), draw.format.round(p)


def draw_tokens(draw: Draw, q: np.ndarray) -> np.ndarray:
    """Draw tokens from the distributions of a draft."""
    return np.asarray(inverse(q, draw.rng.random(q.shape[:-1]) * np.sum(q, axis=-1))[0])


def draw_arrays(draw: Draw, kinds: tuple[str, ...] = DRAFTS, *, longest: int = 257, given: bool | None = None) -> Arrays:
    """Draw a call; in some examples without the distributions of the draft."""
    b, vocab = draw.dims(b=65, vocab=longest)
    n = draw_count(draw)
    q, p = draw_pair(draw, (b, n + 1, vocab), draw.one_of(kinds))
    with_draft = draw.one_of((True, True, True, False)) if given is None else given
    tokens = draw_tokens(draw, q[:, :n] if with_draft else p[:, :n] + q[:, :n])
    return tokens, q[:, :n] if with_draft else None, p, draw_uniforms(draw, (b, n)), draw_uniforms(draw, (b,))


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_arrays(draw, longest=1025), {}


declaration = Declaration(
    equation=verify_draft,
    arguments=arguments,
    core={"draft_tokens": 1, "draft_probabilities": 2, "target_probabilities": 2, "uniforms": 1, "final_uniforms": 0},
    refused=("draft_probabilities", "target_probabilities"),
    precision="fused",
    dtypes=("float32", "float64"),
    results={"tokens": INTEGER, "accepted": INTEGER},
    structure=("draft_tokens", "draft_probabilities", "target_probabilities", "uniforms", "final_uniforms"),  # distributions
)
