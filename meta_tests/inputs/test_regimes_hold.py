"""Every regime draws what its name says, in every format: else no bug that it is there for is found, and nothing fails."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spec_tests.inputs.regimes import EXTREME, LOGITS, POINTS, ROWS, VECTORS, Fill, fill
from spec_tests.specification.formats import FORMATS, Format

TABLES = {"rows": ROWS, "logits": LOGITS, "points": POINTS, "vectors": VECTORS}
CASES = [(table, name) for table, kinds in TABLES.items() for name in kinds]
ROWS_DRAWN, LENGTH = 200, 40


def size(x: np.ndarray) -> np.ndarray:
    return np.max(np.abs(x), axis=-1)


def spread(x: np.ndarray) -> np.ndarray:
    return np.max(x, axis=-1) - np.min(x, axis=-1)


def share(condition: np.ndarray) -> float:
    return float(np.mean(condition))


def count_distinct(x: np.ndarray) -> np.ndarray:
    return np.array([len(np.unique(row)) for row in x])


def is_normal(x: np.ndarray) -> bool:
    return abs(float(np.mean(x))) < 0.1 and 0.9 < float(np.std(x)) < 1.1


def has_scales(*factors: float) -> Callable[[np.ndarray, Format], bool]:
    """Return whether rows are normal ones times each of the factors."""

    def holds(x: np.ndarray, f: Format) -> bool:
        found = np.log(np.std(x, axis=-1)[:, None] / np.array(factors))
        nearest = np.argmin(np.abs(found), axis=-1)
        return set(nearest) == set(range(len(factors))) and bool(np.all(np.min(np.abs(found), axis=-1) < 0.6))

    return holds


# For each regime, by its table where one name stands for several: what rows of it have. The formats differ where it says so.
HOLDS: dict[str, Callable[[np.ndarray, Format], bool]] = {
    "normal": lambda x, f: is_normal(x),
    "integers": lambda x, f: set(np.unique(x)) == set(range(-4, 5)),
    "constant": lambda x, f: bool(np.all(spread(x) == 0)) and len(np.unique(x)) > 100,
    "zeros": lambda x, f: not np.any(x),
    "one hot": lambda x, f: bool(np.all(np.count_nonzero(x, axis=-1) == 1)) and set(np.unique(x)) == {-2.0, 0.0, 1.0, 30.0},
    "small": lambda x, f: share(size(x) < 0.1) > 0.9 and share(size(x) < 1e-3) > 0.2 and bool(np.all(size(x) > 0)),
    "rows scaled": has_scales(0.03, 0.3, 10.0, 100.0),
    "logits scaled": has_scales(0.1, 4.0, 20.0),
    "vectors scaled": has_scales(0.1, 3.0, 10.0),
    "offset": lambda x, f: bool(np.all(np.abs(x.mean(-1)) > 3 * x.std(-1)))
    and share(np.abs(x.mean(-1)) > 1000 * x.std(-1)) > 0.2,
    "outlier": lambda x, f: share(size(x) > 50 * np.median(np.abs(x), axis=-1)) > 0.9,
    "positive": lambda x, f: bool(np.all(x >= 0.5)),
    "heavy tails": lambda x, f: size(x).max() > 500 and share(np.abs(x) < 0.05) > 0.1,
    "large": lambda x, f: bool(np.all(np.isfinite(x))) and _squares_overflow(x, f),
    "subnormal": lambda x, f: share((np.abs(x) < f.tiny) & (x != 0)) > 0.3 and share(np.abs(x) > f.tiny) > 0.02,
    "ties": lambda x, f: bool(np.all(count_distinct(x) == 2)) and share(spread(x) < 0.02) == 1,
    "peaked": lambda x, f: _top_gaps(x) == {8, 20, 1200},
    "ascending": lambda x, f: bool(np.all(np.diff(x, axis=-1) >= 0)) and share(spread(x) > 16) > 0.9,
    "shifted": lambda x, f: bool(np.all(np.abs(x.mean(-1)) > 80)) and share(np.abs(x.mean(-1)) > 900) > 0.5 and bool(
        np.all(spread(x) < 12)
    ),
    "spread": lambda x, f: share(spread(x) > 150) > 0.9 and share(x.max(-1) > 50) > 0.3,
    "minus infinity": lambda x, f: share(np.isneginf(x).any(-1)) > 0.9 and bool(np.all(np.isfinite(x).any(-1)))
    and share(np.isneginf(x).mean(-1) > 0.8) > 0.2 and share(np.isneginf(x).mean(-1) < 0.4) > 0.2 and not np.isposinf(x).any(),
    "extreme": lambda x, f: bool(np.all(size(x) == f.max)) and share(np.all(x > 0, -1) | np.all(x < 0, -1)) > 0.3
    and share(np.any(x > 0, -1) & np.any(x < 0, -1)) > 0.3,
    "tails": lambda x, f: 100 < size(x).max() <= 110 and share(np.abs(x) < 1.5) > 0.2,
    "zero and ends": lambda x, f: {0.0, f.max, -f.max, f.tiny, -f.tiny, f.max / 2, -f.max / 2} <= set(np.unique(x)),
    "wide": lambda x, f: np.abs(x).min() < 0.02 and min(2.0**15, f.max / 8) < size(x).max() <= min(2.0**16, f.max / 4)
    and share(x > 0) > 0.4,
}  # fmt: skip


def _squares_overflow(x: np.ndarray, f: Format) -> bool:
    """Whether the squares overflow float16, or nearly float32 or the format itself, and the sums of rows do not."""
    nearly = np.sqrt(f.max) / 4096
    beyond = np.sqrt(FORMATS["float16"].max) if f.name == "float16" else nearly
    return bool(np.all(size(x) <= f.max / 4)) and share(size(x) > beyond) > 0.3


def _top_gaps(x: np.ndarray) -> set[int]:
    """Return the heights by which one entry exceeds the others, of those that the regime has."""
    two = np.sort(x, axis=-1)[:, -2:]
    return {min((8, 20, 1200), key=lambda height: abs(height - gap)) for gap in two[:, 1] - two[:, 0] if gap > 2}


def draw(kinds: object, name: str, f: Format) -> np.ndarray:
    return fill(np.random.default_rng(5), (ROWS_DRAWN, LENGTH), kinds, name, f)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize(("table", "name"), CASES)
def test_a_regime_draws_what_it_says(table: str, name: str, dtype: str) -> None:
    f = FORMATS[dtype]
    holds = HOLDS.get(f"{table} {name}") or HOLDS[name]
    assert holds(draw(TABLES[table], name, f), f)


@pytest.mark.parametrize("name", HOLDS)
def test_what_is_said_of_a_regime_does_not_hold_of_ordinary_rows(name: str) -> None:
    """Else it says nothing. Of ordinary rows themselves it must not hold of rows that are twice as large."""
    for dtype in FORMATS:
        f = FORMATS[dtype]
        ordinary = draw(ROWS, "normal", f)
        assert not HOLDS[name](2 * ordinary if name == "normal" else ordinary, f)


def test_mixed_rows_are_of_all_regimes() -> None:
    names = {"a": 1.0, "b": 2.0, "c": 3.0}

    def constant(value: float) -> Fill:
        return lambda rng, shape, f: np.full(shape, value)

    kinds = {name: constant(value) for name, value in names.items()}
    drawn = fill(np.random.default_rng(0), (4, 10, 5), kinds, "mixed", FORMATS["float32"])
    assert drawn.shape == (4, 10, 5)
    assert np.all(drawn == drawn[..., :1]), "the rows are of one regime each"
    counts = [int(np.sum(drawn[..., 0] == value)) for value in names.values()]
    assert sum(counts) == 40
    assert max(counts) - min(counts) <= 1
    assert fill(np.random.default_rng(0), (0, 5), kinds, "mixed", FORMATS["float32"]).shape == (0, 5)
    assert fill(np.random.default_rng(0), (), kinds, "b", FORMATS["float32"]) == 2.0


def test_the_extreme_regimes_exist() -> None:
    assert {name for kinds in TABLES.values() for name in kinds} >= EXTREME
    assert {"extreme", "zero and ends", "large"} <= EXTREME
