"""The suite copies to and from a device what a law needs, and keeps nothing of what it has read on the device."""

import pytest

from ..measure.transfers import build_on_device, measure

ARRAYS = {"softmax": (1, 1), "rms_norm": (2, 1), "rms_norm_vjp": (3, 2)}  # how many a call takes and returns


@pytest.mark.rotating
@pytest.mark.parametrize("operation", ARRAYS)
def test_each_argument_is_copied_once_and_each_result_once(operation: str) -> None:
    found = {traffic.law: traffic for traffic in measure(build_on_device(), operation)}
    reference = found[f"{operation}.reference"]
    taken, returned = ARRAYS[operation]
    assert reference.calls > 0
    assert (reference.to_device, reference.from_device) == (taken * reference.calls, returned * reference.calls)
    unchanged = found[f"{operation}.inputs_unchanged"]  # it reads what it has given, before and after; work may write it again
    assert unchanged.to_device + unchanged.from_device <= (4 * taken + returned) * unchanged.calls
    assert all(traffic.left <= 8 for traffic in found.values())  # the framework's sample, and no array of a call
