"""What goes wrong with verify_draft where another test accepts a token, or the token after a rejection is not drawn."""

from typing import Any

import numpy as np

from reference_numpy._acceptance import number

from . import deviation
from ._drafts import verify_by


@deviation("reference")
def product_of_the_ratios(*arrays: Any) -> Any:
    """a token is accepted by the product of its own ratio p/q and those of the tokens before it, and not by its own alone.

    Shows: two drafted tokens, of which the first is accepted. Hides: one drafted token.
    """
    return verify_by(arrays, accepts=lambda p, q, u: u * np.cumprod(q, axis=-1) < np.cumprod(p, axis=-1))


@deviation("reference", "losslessness", "a_draft_like_the_target_is_accepted")
def draft_left_out(*arrays: Any) -> Any:
    """a token is accepted where u < p, whatever the probability is with which it was drafted.

    Shows: a draft that is not sure. Hides: no draft_probabilities.
    """
    return verify_by(arrays, accepts=lambda p, q, u: u < p)


@deviation(
    "reference",
    "losslessness",
    "a_draft_like_the_target_is_accepted",
    seen=("https://github.com/lablup/mlxcel/issues/902",),
)
def accepted_if_most_probable(*arrays: Any) -> Any:
    """a token is accepted if it is the target's most probable one, whatever the uniform is, as where nothing is sampled.

    Shows: any target that is not one token. Hides: a target of one token.
    """
    x, p = np.asarray(arrays[0]), number(arrays[2])
    of_x = np.take_along_axis(p[:, : x.shape[1]], x[..., None], axis=-1)[..., 0]
    return verify_by(arrays, accepts=lambda *_: of_x == np.max(p[:, : x.shape[1]], axis=-1))


@deviation("reference", "losslessness")
def most_probable_of_the_residual(*arrays: Any) -> Any:
    """after a rejection the token is the most probable one of the residual, and not drawn from it.

    Shows: a rejection, and a residual of two tokens. Hides: drafts that are accepted whole.
    """

    def weigh(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        residual = np.maximum(p - q, 0.0)
        return np.where(np.arange(p.shape[-1]) == np.argmax(residual, axis=-1)[..., None], residual, 0.0)

    return verify_by(arrays, weigh)
