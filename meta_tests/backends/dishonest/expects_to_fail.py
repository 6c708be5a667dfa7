"""Raise pytest's xfail, as a test does that is expected to fail."""

import pytest

from .._right import *


def sigmoid(x):
    pytest.xfail("this is known")
