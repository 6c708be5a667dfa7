"""As if the test itself had decided not to run."""

import pytest

from .._right import *


def sigmoid(x):
    pytest.skip("not today")
