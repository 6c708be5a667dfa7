"""What goes wrong with alibi_slopes."""

from typing import Any

import numpy as np

from reference_numpy.alibi_slopes import alibi_slopes
from spec_tests.specification.formats import FORMATS

from . import deviation


def geometric_powers_of_two(first: float, ratio: float, count: int) -> Any:
    """Return `count` powers of two, whose exponents go from `first` in steps of `ratio`."""
    return np.power(2.0, first + ratio * np.arange(count))


def largest_power_of_two(heads: int) -> int:
    return 1 << (heads.bit_length() - 1)


@deviation(
    "reference", "between", kind="convention",
    seen=("https://github.com/ml-explore/mlx/pull/3071", "https://github.com/ml-explore/mlx/issues/343"),
)  # fmt: skip
def geometric_for_any_number(*, num_heads: int) -> Any:
    """the slopes are 2^(−8(i+1)/H) for every H, not only for powers of two.

    Shows: 3, 12, 40 heads. Hides: powers of two.
    """
    return geometric_powers_of_two(-8 / num_heads, -8 / num_heads, num_heads)


@deviation("reference", "geometric", "eight_heads", seen=("https://github.com/paiml/aprender/pull/2143",))
def counted_from_zero(*, num_heads: int) -> Any:
    """the heads are counted from 0: the first slope is 1, and every other too large by as much.

    Shows: any number of heads. Hides: nothing.
    """
    return alibi_slopes(num_heads=num_heads) * 2.0 ** (8 / largest_power_of_two(num_heads))


@deviation("reference", "geometric", kind="convention")
def from_one_to_a_half(*, num_heads: int) -> Any:
    """the slopes are 2^(−i/H), i = 0 … H − 1: from 1 to about ½.

    Shows: any number of heads. Hides: nothing.
    """
    return geometric_powers_of_two(0.0, -1 / num_heads, num_heads)


@deviation("reference", "geometric")
def halved_from_head_to_head(*, num_heads: int) -> Any:
    """the slopes are ½, ¼, ⅛ … for any number of heads.

    Shows: any number but 8. Hides: 8 heads.
    """
    return geometric_powers_of_two(-1.0, -1.0, num_heads)


@deviation("reference", "between", seen=("https://github.com/antofuller/CROMA/issues/12",))
def sorted_by_size(*, num_heads: int) -> Any:
    """the slopes are sorted, where those in between stand behind the others in the paper's code.

    Shows: 3, 12, 40 heads. Hides: powers of two.
    """
    return np.sort(alibi_slopes(num_heads=num_heads))[::-1]


@deviation("reference", "between")
def of_the_power_above(*, num_heads: int) -> Any:
    """the slopes are the first H of the next power of two above.

    Shows: 3, 12, 40 heads. Hides: powers of two.
    """
    above = 1 << (num_heads - 1).bit_length()
    return geometric_powers_of_two(-8 / above, -8 / above, num_heads)


@deviation("reference", "between")
def in_between_not_skipping(*, num_heads: int) -> Any:
    """the slopes in between are the first H − P of 2P heads, not every other of them.

    Shows: 7, 12, 48 heads. Hides: powers of two, and one more than these.
    """
    few = largest_power_of_two(num_heads)
    return np.concatenate([alibi_slopes(num_heads=few), geometric_powers_of_two(-4 / few, -4 / few, num_heads - few)])


@deviation("reference", "between")
def in_between_first(*, num_heads: int) -> Any:
    """the slopes in between stand before the others.

    Shows: 3, 12, 40 heads. Hides: powers of two.
    """
    slopes, few = alibi_slopes(num_heads=num_heads), largest_power_of_two(num_heads)
    return np.concatenate([slopes[few:], slopes[:few]])


@deviation("reference", "range")
def negative(*, num_heads: int) -> Any:
    """the slopes are negative: the sign of the bias is theirs.

    Shows: any number of heads. Hides: the bias, if that drops its own sign.
    """
    return -alibi_slopes(num_heads=num_heads)


@deviation("reference", "geometric", kind="arithmetic")
def in_float16(*, num_heads: int) -> Any:
    """the slopes are rounded to float16.

    Shows: 16 heads and more, and numbers that are no power of two. Hides: 1, 2, 4 and 8 heads.
    """
    return FORMATS["float16"].round(alibi_slopes(num_heads=num_heads))
