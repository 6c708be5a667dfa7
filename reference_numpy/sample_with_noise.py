from typing import Any

from ._acceptance import number
from ._drawn import by_exponential, by_gumbel, by_inverse
from ._marks import token_drawn


def sample_with_noise(probabilities: Any, noise: Any, *, method: str = "inverse") -> Any:
    """The token that a noise draws from each row of probabilities. The noise decides it: nothing is random here.

        "inverse": the first t with p_0 + .. + p_t > noise
        "exponential": argmax p / noise;   "gumbel": argmax (ln p + noise)     (over p > 0)

    Shapes
        probabilities (..., vocab),  noise (..., vocab) or (...)  ->  (...)
    Dtypes
        integers
    Units
        noise of "inverse" has no axis of the vocabulary: it is one uniform for each row. That of the others is one for each
        token, from the exponential distribution of mean 1, and from the standard Gumbel distribution.
    Domain
        Rows of probabilities >= 0 sum to 1. 0 <= noise <= 1 - 2^-24 for "inverse", noise > 0 and finite for "exponential", and
        finite for "gumbel".
    Edges
        A token of the probability 0 is never drawn. Where rounding lets no sum exceed the noise, "inverse" draws the last token
        of a positive probability. Where the noise lies within the roundings at a sum, or two tokens of a race are that near,
        both tokens are right.
    Choices
        A sum that equals the noise is not enough, so that the noise 0 draws the first token of a positive probability.
    Raises
        ValueError for another method.
    Source
        Devroye 1986, Non-Uniform Random Variate Generation, III.2.1 (inverse). Gumbel 1954, and Maddison et al. 2014,
        arXiv:1411.0030, section 2 (gumbel). Efraimidis and Spirakis 2006, doi:10.1016/j.ipl.2005.11.003 (exponential).

    The first sum above 0.5 is that of three tokens. In a race the noise of each token counts:

    >>> sample_with_noise([[0.25, 0.25, 0.5]], [0.5]).tolist()
    [2]
    >>> sample_with_noise([[0.25, 0.25, 0.5]], [[0.1, 1.0, 1.0]], method="exponential").tolist()
    [0]
    """
    p, u = number(probabilities), number(noise)
    if method == "inverse":
        token, reach = by_inverse(p, u)
    elif method == "exponential":
        token, reach = by_exponential(p, u)
    elif method == "gumbel":
        token, reach = by_gumbel(p, u)
    else:
        raise ValueError(f"sample_with_noise: method={method!r} is unknown; there are 'inverse', 'exponential' and 'gumbel'.")
    return token_drawn(token, reach, probabilities)
