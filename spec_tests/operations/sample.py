"""How sample is drawn: flat and peaked rows with zeros, seeds, and a few draws from each row."""

from typing import Any

import numpy as np

from reference_numpy.sample import sample
from spec_tests.inputs.draw import MANY_ROWS, Draw
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.formats import INTEGER

from .verify_draft import draw_probabilities

LONGEST = 1025  # vocabulary
LARGEST_SEED = 2**31 - 1
COUNTS = (1, 2, 5, 33)


def draw_seed(draw: Draw) -> dict[str, Any]:
    """Draw a seed, whose next one is a seed too; none where the function takes none."""
    return draw.keyword("seed", (draw.integer(0, LARGEST_SEED - 1),))


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    (vocab,) = draw.dims(vocab=LONGEST)
    p: np.ndarray = draw.format.round(draw_probabilities(draw, (*draw.batch(MANY_ROWS), vocab)))
    return (p,), {**draw_seed(draw), **draw.keyword("num_samples", COUNTS)}


declaration = Declaration(
    equation=sample,
    arguments=arguments,
    core={"probabilities": 1},
    precision="fused",
    dtypes=("float32", "float64"),
    results={"": INTEGER},
    random=True,
    chooses=True,
    checked=("probabilities",),  # torch.multinomial raises
    structure=("probabilities",),  # distributions
)
