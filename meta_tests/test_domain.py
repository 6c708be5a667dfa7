"""A kernel with restrictions states its domain, and is tried inside it: outside, each of these raises."""

from pathlib import Path

import pytest

from .commanding import ATTENTION, RELU, RMS_NORM, ROPE, SOFTMAX, green

PLAIN = RMS_NORM + SOFTMAX + RELU + ATTENTION + ROPE
DOMAINS = {
    "dimensions": """
domain = {"scaled_dot_product_attention": {"d_k": (8, 24), "d_v": "d_k", "n": range(4, 41, 4), "batch_dims": (2,)}}

def scaled_dot_product_attention(q, k, v):
    if not (q.ndim == 4 and q.shape[-1] in (8, 24) and v.shape[-1] == q.shape[-1] and q.shape[-2] in range(4, 41, 4)):
        raise ValueError(f"q {q.shape}, v {v.shape}")
    return attention(q, k, v)
""",
    "values": """
domain = {"rms_norm": {"eps": (1e-5, 1e-6), "d": (16, 32), "dtype": ("float32",)}, "softmax": {"axis": (-1,)}}
dtypes = ("float64", "float32")
plain_rms_norm, plain_softmax = rms_norm, softmax

def rms_norm(x, weight, *, eps):
    if x.dtype != "float32" or eps not in (1e-5, 1e-6) or len(weight) not in (16, 32):
        raise ValueError(f"{x.dtype}, eps {eps}, weight {weight.shape}")
    return plain_rms_norm(x, weight, eps=eps)

def softmax(x, *, axis):
    if axis != -1:
        raise ValueError(axis)
    return plain_softmax(x, axis=axis)
""",
    "one value": """
domain = {"rms_norm": {"eps": (1e-5,)}}
plain_rms_norm = rms_norm

def rms_norm(x, weight):  # its eps is built in
    return plain_rms_norm(x, weight, eps=1e-5)
""",
    "consecutive positions": """
domain = {"rope": {"positions": "consecutive", "d_k": (4, 8)}}

def rope(x, positions):
    if x.shape[-1] not in (4, 8) or not np.array_equal(positions, np.arange(x.shape[-2])):
        raise ValueError(f"{x.shape[-1]}, {positions}")
    return turned(x, positions)
""",
    "offset positions": """
domain = {"rope": {"positions": "offset"}}

def rope(x, positions):
    if not np.array_equal(positions, positions.flat[0] + np.arange(x.shape[-2])):
        raise ValueError(positions)
    return turned(x, positions)
""",
    "products": """
domain = {"multihead_self_attention": {"d": "h d_k", "d_v": "d_k", "is_causal": (False,), "theta": (500.0, 2.5)}}

def multihead_self_attention(x, w_q, w_k, w_v, w_o, *, num_heads, is_causal, theta):
    d = x.shape[-1]
    if is_causal or theta not in (500.0, 2.5) or not w_q.shape == w_k.shape == w_v.shape == w_o.shape == (d, d):
        raise ValueError(f"is_causal {is_causal}, theta {theta}, x {x.shape}, w_q {w_q.shape}, w_v {w_v.shape}")
    q, k, v = (np.swapaxes((x @ w.T).reshape(*x.shape[:-1], num_heads, -1), -2, -3) for w in (w_q, w_k, w_v))
    q, k = (turned(y, np.arange(x.shape[-2]), theta) for y in (q, k))
    y = np.swapaxes(attention(q, k, v), -2, -3)
    return (y.reshape(x.shape) @ w_o.T).astype(x.dtype)
""",
    "contiguous and never empty": """
domain = {name: {"contiguous": True, "empty": False} for name in ("relu", "rms_norm")}
plain_rms_norm, plain_relu = rms_norm, relu

def checked(*arrays):
    for a in arrays:
        if not a.flags.c_contiguous or not a.size:
            raise ValueError(f"{a.shape}, strides {a.strides}")

def rms_norm(x, weight, *, eps):
    checked(x, weight)
    return plain_rms_norm(x, weight, eps=eps)

def relu(x):
    checked(x)
    return plain_relu(x)
""",
}


OPERATIONS = {
    "dimensions": "scaled_dot_product_attention",
    "values": "rms_norm or softmax",
    "one value": "rms_norm",
    "products": "multihead_self_attention",
}
FORGOTTEN = ("dimensions", "values", "products")


@pytest.mark.parametrize("restriction", DOMAINS)
def test_nothing_outside_the_domain_is_tried(restriction: str, tmp_path: Path) -> None:
    tried = OPERATIONS.get(restriction, "rope" if "positions" in restriction else "relu or rms_norm")
    green(tmp_path, PLAIN + DOMAINS[restriction], "--hypothesis-seed=5", "-k", tried)


@pytest.mark.parametrize("restriction", FORGOTTEN)
def test_the_reference_is_tried_inside_the_domain(restriction: str, tmp_path: Path) -> None:
    which = f"({OPERATIONS[restriction]}) and (test_reference or test_empty or test_batch_independence)"
    green(tmp_path, PLAIN + DOMAINS[restriction], "--hypothesis-seed=5", "-k", which)
