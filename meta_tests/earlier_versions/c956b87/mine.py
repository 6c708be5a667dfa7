import numpy as np

framework = "numpy"
dtypes = ("float32", "float16")


def softmax(x, *, axis):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def rms_norm(x, weight, *, eps):
    h = x.astype(np.float64)
    return (h / (np.sqrt(np.mean(np.square(h), -1, keepdims=True)) + eps) * weight).astype(x.dtype)


def relu(x):
    return np.maximum(x, 0)
