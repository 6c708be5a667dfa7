"""The wrong implementations that everybody writes once are caught, at default effort, by the invariant that they name."""

from pathlib import Path

import pytest

from .running import backend, caught

WRONG = sorted((Path(__file__).parent / "wrong").glob("*.py"))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_is_caught(path: Path, seed: int) -> None:
    wrong = backend(str(path))
    assert wrong.source.caught_by in caught(wrong, seed, only=wrong.source.caught_by)
