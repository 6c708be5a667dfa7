"""What must hold of group_advantages."""

from typing import Any

import numpy as np

from .calls.operation import Operation
from .calls.violation import NotImplementedVariant
from .helpers.assertions import assert_equal, assert_finite, assert_identical, assert_unmoved, exactly
from .helpers.conventions import assert_convention
from .inputs.draw import Draw
from .operations.group_advantages import GROUP_SIZES, draw_groups, draw_options, draw_rewards
from .trials.invariant import invariant

GRPO = "Shao et al. 2024, arXiv:2402.03300, section 4.1.2"
RLOO = "Ahmadian et al. 2024, arXiv:2402.14740"
OPTIONS = ("normalize", "baseline", "eps")


def as_groups(x: Any, given: dict[str, Any]) -> Any:
    return np.reshape(x, (x.shape[0] // given["group_size"], given["group_size"]))


@invariant("B", source=GRPO)
def test_groups_sum_to_zero(group_advantages: Operation, draw: Draw) -> None:
    """The advantages of each group have the sum 0."""
    rewards, given = draw_groups(draw)
    y: Any = group_advantages(rewards, **given, **draw_options(draw, *OPTIONS))
    assert_equal(np.sum(as_groups(y, given), axis=-1), np.zeros(len(rewards) // given["group_size"]))


@invariant("B", source=GRPO)
def test_shift(group_advantages: Operation, draw: Draw) -> None:
    """A number added to all rewards of a group changes nothing; under "batch_std" it has to be added to all groups."""
    rewards, given = draw_groups(draw)
    options = draw_options(draw, *OPTIONS)
    number = draw.grid((len(rewards) // given["group_size"], 1), largest=32)
    if options.get("normalize", "std") == "batch_std":
        number = number * 0 + number[0]
    moved = exactly(rewards) + np.repeat(number, given["group_size"], axis=-1).reshape(-1)
    assert_equal(group_advantages(moved, **given, **options), group_advantages(rewards, **given, **options))


@invariant("B", source=GRPO, needs=("keyword:eps",))
def test_scale(group_advantages: Operation, draw: Draw) -> None:
    """Rewards and eps, both twice as large, give the same advantages, and twice as large ones where nothing is normalized."""
    allowed = draw.operation.domain.get("eps")
    both = tuple(e for e in allowed if 2 * e in allowed) if allowed is not None else (1e-6, 1e-2, 0.1)
    if not both:
        raise NotImplementedVariant("its domain has no eps together with twice as much")
    rewards, given = draw_groups(draw)
    options, eps = draw_options(draw, "normalize", "baseline"), draw.one_of(both)
    doubled = group_advantages(2 * rewards, **given, **options, eps=2 * eps)
    factor = 2.0 if options.get("normalize", "std") == "none" else 1.0
    assert_equal(doubled, group_advantages(rewards, **given, **options, eps=eps) * factor)


@invariant("B", source=GRPO)
def test_order_in_a_group(group_advantages: Operation, draw: Draw) -> None:
    """Permuting the rewards of a group permutes its advantages."""
    rewards, given = draw_groups(draw)
    options, order = draw_options(draw, *OPTIONS), draw.rng.permutation(given["group_size"])
    y: Any = group_advantages(rewards, **given, **options)
    permuted: Any = group_advantages(as_groups(rewards, given)[:, order].reshape(-1), **given, **options)
    assert_equal(as_groups(permuted, given), as_groups(y, given)[:, order])


@invariant("E", source=GRPO)
def test_groups_are_independent(group_advantages: Operation, draw: Draw) -> None:
    """Other rewards in another group change no advantage of this one, except under "batch_std"."""
    rewards, given = draw_groups(draw)
    normalize, options = draw.only("normalize", "std", "none"), draw_options(draw, "baseline", "eps")
    size = given["group_size"]
    kept = np.arange(len(rewards)) // size == draw.integer(0, 99) * (len(rewards) // size) // 100
    others = np.where(kept, rewards, draw_rewards(draw, len(rewards) // size, size))
    before, after = (group_advantages(x, **given, **normalize, **options) for x in (rewards, others))
    assert_unmoved(after, before, kept)


@invariant("B", source=RLOO, needs=("keyword:baseline",))
def test_leave_one_out_stretches(group_advantages: Operation, draw: Draw) -> None:
    """The baseline "leave-one-out" gives G / (G − 1) times what "mean" gives, normalized or not."""
    rewards, given = draw_groups(draw)
    options, size = draw_options(draw, "normalize", "eps"), given["group_size"]
    one = group_advantages(rewards, **given, **options, **draw.only("baseline", "leave-one-out"))
    other = group_advantages(rewards, **given, **options, **draw.only("baseline", "mean"))
    assert_equal(one * float(size - 1), other * float(size))


@invariant("B", source="scale_rewards='batch' of TRL", needs=("keyword:normalize",))
def test_one_deviation_for_all(group_advantages: Operation, draw: Draw) -> None:
    """Under "batch_std" all advantages are those of "none" over one number."""
    rewards, given = draw_groups(draw)
    options = draw_options(draw, "baseline", "eps")
    over, centred = (
        group_advantages(rewards, **given, **options, **draw.only("normalize", how)) for how in ("batch_std", "none")
    )
    largest = int(np.argmax(np.abs(centred.value)))
    assert_equal(over * centred[largest : largest + 1], centred * over[largest : largest + 1])


@invariant("B", source="scale_rewards='batch' of TRL", needs=("keyword:normalize",))
def test_one_group_is_the_batch(group_advantages: Operation, draw: Draw) -> None:
    """Where all rewards are one group, "std" and "batch_std" are the same."""
    given = draw.keyword("group_size", GROUP_SIZES)
    rewards, options = draw_rewards(draw, 1, given["group_size"]), draw_options(draw, "baseline", "eps")
    one, other = (group_advantages(rewards, **given, **options, **draw.only("normalize", how)) for how in ("batch_std", "std"))
    assert_equal(one, other)


@invariant("E", source=GRPO)
def test_equal_rewards(group_advantages: Operation, draw: Draw) -> None:
    """Equal rewards in a group of 2, 4, 8, 16 or 64, if they are integers or halves, have advantages of exactly 0."""
    allowed = draw.operation.domain.get("group_size", GROUP_SIZES)
    sizes = tuple(size for size in allowed if size & (size - 1) == 0)
    if not sizes:
        raise NotImplementedVariant("its domain has no group_size that is a power of two")
    rewards, given = draw_groups(draw, sizes)
    if given["group_size"] not in sizes:
        raise NotImplementedVariant("its domain has other sizes of groups")
    level = np.repeat(draw.grid((len(rewards) // given["group_size"],), step=0.5), given["group_size"])
    assert_identical(group_advantages(level, **given, **draw_options(draw, *OPTIONS)), np.zeros(level.shape))


@invariant("F", source=GRPO)
def test_never_nan(group_advantages: Operation, draw: Draw) -> None:
    """Equal rewards of any value, whose mean rounds, have finite advantages."""
    rewards, given = draw_groups(draw)
    level = np.repeat(draw.normal((len(rewards) // given["group_size"],)), given["group_size"])
    assert_finite(group_advantages(level, **given, **draw_options(draw, *OPTIONS)))


@invariant("B", source="torch.std and numpy.std")
def test_advantage_std(group_advantages: Operation, draw: Draw) -> None:
    """The variance is divided by n − 1, as in PyTorch, or by n, as in NumPy, everywhere alike: the convention advantage_std."""
    assert_convention(group_advantages, draw, "advantage_std")
