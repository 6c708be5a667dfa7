"""Make Hypothesis reject every example."""

import hypothesis

from .._right import *


def sigmoid(x):
    hypothesis.reject()
