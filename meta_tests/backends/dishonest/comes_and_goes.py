"""Have the function, which is wrong, only while the backend is loaded, and none when the laws are tried."""

from .._right import np, relu  # noqa: F401

framework = "numpy"
dtypes = ("float32",)
asked = []


def __getattr__(name):
    if name == "sigmoid":
        asked.append(name)
        if len(asked) <= 3:
            return np.zeros_like
    raise AttributeError(name)
