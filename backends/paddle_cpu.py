"""PaddlePaddle's own functions on a CPU, where most have kernels of float64 and float32 alone; what it has no function for is
absent, as is what needs a GPU (rms_norm). Arrays come and go as NumPy's, and gradients by paddle.grad.
"""

import functools
import inspect
import math
import warnings

import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it misses ccache, which only extensions need
    import paddle
    import paddle.nn.functional as F

framework = "numpy"
version = f"paddlepaddle {paddle.__version__}"
dtypes = ("float64", "float32")
conventions = {"causal_alignment": "top-left"}
domain = {"layer_norm": {"eps": (0.0, *map(float, np.float32([1e-12, 1e-6, 1e-5, 5e-4])))}}  # above 0.001 it refuses

paddle.set_device("cpu")


def _tensor(x):
    return paddle.to_tensor(x) if isinstance(x, np.ndarray) else x


def _on_arrays(function):
    """The function, and beside it the gradients of its arguments."""
    names = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]

    @functools.wraps(function)
    def on_arrays(*arrays, **keywords):
        return function(*map(_tensor, arrays), **{name: _tensor(x) for name, x in keywords.items()}).numpy()

    def vjp(cotangent, *arrays, **keywords):
        given = {name: _tensor(x) for name, x in {**dict(zip(names, arrays, strict=False)), **keywords}.items()}
        floating = [name for name in names if paddle.is_tensor(given.get(name)) and given[name].is_floating_point()]
        for name in floating:
            given[name].stop_gradient = False
        found = paddle.grad(function(**given), [given[name] for name in floating], _tensor(cotangent), allow_unused=True)
        by_name = {name: x if x is None else x.numpy() for name, x in zip(floating, found, strict=True)}
        return tuple(by_name.get(name) for name in names)

    globals()[f"{function.__name__}_vjp"] = vjp
    return on_arrays


@_on_arrays
def linear(x, weight, bias=None):
    return F.linear(x, weight.T, bias)


@_on_arrays
def embedding(token_ids, weight):
    return F.embedding(token_ids, weight)


@_on_arrays
def softmax(x, *, axis):
    return F.softmax(x, axis)


@_on_arrays
def log_softmax(x, *, axis):
    return F.log_softmax(x, axis)


@_on_arrays
def logsumexp(x, *, axis):
    return paddle.logsumexp(x, axis)


@_on_arrays
def layer_norm(x, weight, bias, *, eps):
    rows = x.reshape([-1, x.shape[-1]])  # a vector alone is refused
    return F.layer_norm(rows, rows.shape[1:], weight, bias, eps).reshape(x.shape)


@_on_arrays
def relu(x):
    return F.relu(x)


@_on_arrays
def silu(x):
    return F.silu(x)


@_on_arrays
def sigmoid(x):
    return F.sigmoid(x)


@_on_arrays
def gelu(x, *, approximate="none"):
    return F.gelu(x, approximate=approximate == "tanh")


@_on_arrays
def glu(x, w1, w2):
    return F.glu(F.linear(x, paddle.concat([w2, w1]).T))


@_on_arrays
def swiglu(x, w1, w2, w3):
    return F.linear(F.swiglu(F.linear(x, w1.T), F.linear(x, w3.T)), w2.T)


@_on_arrays
def feed_forward(x, w1, w2, b1=None, b2=None, *, activation="relu"):
    return F.linear({"relu": F.relu, "gelu": F.gelu}[activation](F.linear(x, w1.T, b1)), w2.T, b2)


def causal_mask(*, n, m=None, aligned="bottom-right"):
    m = n if m is None else m
    return paddle.tril(paddle.ones([n, m], dtype="bool"), m - n if aligned == "bottom-right" else 0).numpy()


def _attention(q, k, v, mask, **options):
    """F.scaled_dot_product_attention takes (batch, length, heads, features); here they are (..., heads, length, features)."""
    batch = np.broadcast_shapes(*(tuple(x.shape[:-3]) for x in (q, k, v, mask) if x is not None))

    def four(x):
        return None if x is None else x.expand([*batch, *x.shape[-3:]]).reshape([math.prod(batch), *x.shape[-3:]])

    q, k, v = (four(x).transpose([0, 2, 1, 3]) for x in (q, k, v))
    y = F.scaled_dot_product_attention(q, k, v, four(mask), **options).transpose([0, 2, 1, 3])
    return y.reshape([*batch, *y.shape[1:]])


def _one_head(x):
    return None if x is None else (x if x.ndim > 1 else x.unsqueeze(0)).unsqueeze(-3)


@_on_arrays
def scaled_dot_product_attention(q, k, v, mask=None, bias=None, *, is_causal=False, scale=None):
    if mask is not None and bias is not None:
        raise NotImplementedError("one of bias and mask")
    one = _one_head(bias if mask is None else mask)
    return _attention(*map(_one_head, (q, k, v)), one, is_causal=is_causal, scale=scale).squeeze(-3)


@_on_arrays
def grouped_query_attention(q, k, v, mask=None, *, is_causal=False, scale=None):
    if mask is not None and mask.ndim < 3:
        mask = _one_head(mask)
    return _attention(q, k, v, mask, is_causal=is_causal, scale=scale)
