from typing import Any

import numpy as np

from ._acceptance import number
from ._drawn import by_drawn_uniforms
from ._marks import token_drawn


def sample(probabilities: Any, *, seed: int = 0, num_samples: int = 1) -> Any:
    """Independent draws of tokens from each row of probabilities. The function makes its own random numbers.

        P(token_i = t) = p_t,   i = 0 .. num_samples - 1

    Shapes
        probabilities (..., vocab)  ->  (..., num_samples)
    Dtypes
        integers
    Domain
        Rows of probabilities >= 0 sum to 1. 0 <= seed < 2^31. num_samples >= 1.
    Edges
        A token of the probability 0 is never drawn. Of one row, every token with a positive probability is a right answer:
        only many draws show whether the probabilities are right.
    Choices
        Draws are with replacement: num_samples may exceed the vocabulary. The draws of rows, of one row, and of two seeds are
        independent. One seed need not give the same tokens in two libraries, and not those of this function. Libraries differ
        in the arguments: torch.multinomial draws without replacement by default and takes a generator in place of a seed, and
        jax.random.categorical takes logits and a key.
    Source
        Devroye 1986, Non-Uniform Random Variate Generation, III.2.1.

    Tokens of the probability 0 are never drawn:

    >>> sample([[0.0, 1.0, 0.0]], seed=7, num_samples=3).tolist()
    [[1, 1, 1]]
    >>> sample([[0.25, 0.75]] * 2, num_samples=5).shape
    (2, 5)
    """
    p = number(probabilities)
    uniforms = np.random.default_rng(seed).random((*p.shape[:-1], num_samples))
    token, reach = by_drawn_uniforms(p, uniforms)
    return token_drawn(token, reach, probabilities)
