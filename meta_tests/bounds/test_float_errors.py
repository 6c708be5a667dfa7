"""The context in which NumPy neither warns of a floating-point error nor raises one."""

import threading

import numpy as np
import pytest

from spec_tests.specification.float_errors import ignored_float_errors


def overflow() -> float:
    return float(np.float64(1e308) * np.float64(10))


def test_a_context_inside_another_ends_with_the_outer_one() -> None:
    with np.errstate(all="raise"):
        with ignored_float_errors():
            with ignored_float_errors():
                assert overflow() == np.inf
            assert overflow() == np.inf
        with pytest.raises(FloatingPointError):
            overflow()
        with ignored_float_errors():
            assert overflow() == np.inf


def test_an_exception_ends_it() -> None:
    with np.errstate(all="raise"):
        with pytest.raises(KeyError), ignored_float_errors(), ignored_float_errors():
            raise KeyError
        with pytest.raises(FloatingPointError):
            overflow()


def test_another_thread_has_a_state_of_its_own() -> None:
    found = []

    def evaluate() -> None:
        with np.errstate(all="raise"), ignored_float_errors():
            found.append(overflow())

    with ignored_float_errors():
        thread = threading.Thread(target=evaluate)
        thread.start()
        thread.join()
    assert found == [np.inf]
