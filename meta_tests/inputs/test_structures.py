"""Test the structures of arrays: each holds of any values, and each is drawn beside every regime."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from spec_tests.inputs import regimes
from spec_tests.specification.formats import FORMATS
from spec_tests.specification.structures import STRUCTURES, arrange
from spec_tests.trials.trial import Trial

from ..support.in_process import backend
from ..support.random_draw import RandomDraw

HOLDS = {
    "equal rows": lambda x: np.all(x == x[:1]),
    "equal in pairs": lambda x: np.all(x[:, 1::2] == x[:, : x.shape[1] // 2 * 2 : 2]),
    "ascending rows": lambda x: np.all(x[:, :-1] <= x[:, 1:]),
    "descending rows": lambda x: np.all(x[:, :-1] >= x[:, 1:]),
    "not negative": lambda x: np.all((x >= 0) | np.isinf(x)),
    "not positive": lambda x: np.all(x <= 0),
    "padded": lambda x: np.any(x[:, -1] == 0),
    "padded in front": lambda x: np.any(x[:, 0] == 0),
    "zero rows at the end": lambda x: np.any(x[0] != 0),
    "largest first": lambda x: np.all(np.abs(x[:, 0]) >= np.max(np.where(np.isinf(x), 0, np.abs(x)), axis=1)),
    "largest last": lambda x: np.all(np.abs(x[:, -1]) >= np.max(np.where(np.isinf(x), 0, np.abs(x)), axis=1)),
}


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("regime", ["normal", "minus infinity", "ties"])
def test_a_structure_holds_whatever_the_values_are(structure: str, regime: str) -> None:
    rng = np.random.default_rng(0)
    x = regimes.fill(rng, (4, 3, 7), regimes.LOGITS, regime, FORMATS["float32"])
    arranged = arrange(rng, x, structure)
    assert arranged.shape == x.shape
    assert HOLDS[structure](arranged.reshape(-1, 7))
    assert not np.any(np.isposinf(arranged) | np.isnan(arranged))
    assert {*np.abs(arranged).flat} <= {*np.abs(x).flat, 0.0}, "no other magnitude"


@pytest.mark.parametrize("structure", STRUCTURES)
def test_no_structure_hides_a_whole_row(structure: str) -> None:
    """Softmax of nothing but −∞ is the subject of a level, so that no law about ordinary rows may meet such a row."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random((300, 9)) < 0.8, -np.inf, 1.0)
    x[np.arange(300), rng.integers(0, 9, 300)] = 2.0
    assert np.isfinite(arrange(rng, x, structure)).any(axis=-1).all()


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0), (0, 3), (5,), (1, 1)])
def test_a_structure_takes_every_shape(structure: str, shape: tuple[int, ...]) -> None:
    assert arrange(np.random.default_rng(0), np.ones(shape), structure).shape == shape


def test_every_structure_is_drawn() -> None:
    found = set[str]()

    class Watched(RandomDraw):
        def one_of(self, values: Iterable[Any]) -> Any:
            found.add(str(chosen := super().one_of(values)))
            return chosen

    operation = Trial(backend("numpy-cpu"), "float32").operation("rms_norm")
    for seed in range(600):
        Watched(operation, seed).rows((3, 4))
    assert {*STRUCTURES, *regimes.ROWS} <= found
