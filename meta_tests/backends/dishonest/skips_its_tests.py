"""Skip the running test."""

import pytest

from .._right import *


def sigmoid(x):
    pytest.skip("not today")
