"""What broken and dishonest backends share: a right `relu`, and the right sigmoid, `right`, which they misuse."""

import numpy as np

framework = "numpy"
dtypes = ("float32",)


@np.errstate(over="ignore")
def right(x):
    return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(x.dtype)


def relu(x):
    return np.maximum(x, 0)
