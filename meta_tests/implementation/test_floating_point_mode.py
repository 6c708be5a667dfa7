"""Test that the floating-point mode of the processor is read as it is, and put back."""

import ctypes
import platform
from collections.abc import Iterator

import pytest

from spec_tests.implementation.floating_point_mode import put_back, read_mode
from spec_tests.implementation.guard import Fault, run_guarded

IS_X86_LINUX = platform.system() == "Linux" and platform.machine() == "x86_64"
ROUNDINGS = {"to nearest": 0, "downwards": 0x400, "upwards": 0x800, "towards zero": 0xC00}  # of x86

pytestmark = pytest.mark.skipif(not IS_X86_LINUX, reason="the numbers of the modes are those of x86")


@pytest.fixture(autouse=True)
def _put_back() -> Iterator[None]:
    yield
    put_back("")
    assert read_mode() == "to nearest"


def set_rounding(words: str) -> None:
    assert ctypes.CDLL("libm.so.6").fesetround(ROUNDINGS[words]) == 0


@pytest.mark.parametrize("words", ROUNDINGS)
def test_each_rounding_is_named_and_put_back(words: str) -> None:
    set_rounding(words)
    found = read_mode()
    put_back("")
    assert found == words


def test_flushed_subnormal_numbers_are_seen() -> None:
    torch = pytest.importorskip("torch")
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush them")
    assert read_mode() == "to nearest, without subnormal numbers"


def test_a_call_that_leaves_another_mode_is_a_fault() -> None:
    with pytest.raises(Fault, match="the call changed the processor's floating-point mode from 'to nearest' to 'upwards'"):
        run_guarded(lambda: set_rounding("upwards"), 5.0)
    assert read_mode() == "to nearest"
