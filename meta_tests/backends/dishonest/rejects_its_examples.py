"""As if Hypothesis had been asked for another example."""

import hypothesis

from .._right import *


def sigmoid(x):
    hypothesis.reject()
