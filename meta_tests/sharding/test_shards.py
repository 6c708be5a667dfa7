"""Shards of any length, in each order: together they are the array, and the lengths are those of np.array_split."""

import numpy as np
import pytest

from spec_tests.sharding.placements import as_cut
from spec_tests.sharding.shards import ORDERS, Cut


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("length", range(10))
@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_the_shards_together_are_the_array(length: int, world_size: int, order: str) -> None:
    cut, x = Cut(-2, order), np.arange(3 * length * 2).reshape(3, length, 2)
    pieces = cut.split(x, world_size)
    assert len(pieces) == world_size
    np.testing.assert_array_equal(cut.join(pieces), x)
    assert sorted(np.concatenate(cut.places(length, world_size))) == list(range(length))


def test_in_zigzag_order_each_rank_sees_as_many_keys_under_a_causal_mask() -> None:
    for world_size in (1, 2, 3, 4):
        places = Cut(0, "zigzag").places(8 * world_size, world_size)
        assert len({int(np.sum(rows + 1)) for rows in places}) == 1


@pytest.mark.parametrize("stated", ["rows", 1.0, True, (0,), (0, "ring"), {"x": 0}, {"axis": 0, "heads": -1}])
def test_what_is_no_cut_is_refused(stated: object) -> None:
    with pytest.raises(ValueError, match="give an axis"):
        as_cut(stated)
