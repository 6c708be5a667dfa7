"""Functions whose parameters are not those of the operation of their name: what they are is read, or seen from small calls."""

import textwrap
from types import ModuleType

import pytest

from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.specification.registry import operations

from ..support.in_process import caught_by

pytest.importorskip("torch")


def make(body: str, imports: str = "import torch") -> Backend:
    """Return the backend of a module with this code."""
    module = ModuleType("mine")
    module.__file__ = "mine.py"
    exec(compile(f"{imports}\n{textwrap.dedent(body)}", "mine.py", "exec"), module.__dict__)
    return build_backend(module, operations())


TURN = """
    half = y.shape[-1] // 2
    phi = torch.arange(y.shape[-2])[:, None] * base ** (-torch.arange(half) / half)
    a, b = {pair}
    return {joined}
"""
HALVES = {
    "pair": "y[..., :half], y[..., half:]",
    "joined": "torch.cat([a * phi.cos() - b * phi.sin(), b * phi.cos() + a * phi.sin()], -1)",
}
NEIGHBOURS = {
    "pair": "y[..., ::2], y[..., 1::2]",
    "joined": "torch.stack([a * phi.cos() - b * phi.sin(), b * phi.cos() + a * phi.sin()], -1).flatten(-2)",
}
SCORES = "q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5"
NEAR = """
def local_attention(h, radius=3, window=1):
    out = torch.empty_like(h)
    batch, n, width = h.shape
    for row in range(n):
        near = h[:, max(0, row - window) : row + window + 1]
        shares = torch.softmax((near @ h[:, row, :, None]){scale}, 1)
        out[:, row] = (shares * near).sum(1)
    return out
"""
TAKEN = {  # the code, the operations that it is, and words on them
    "shape": (
        "def layer_norm(input, normalized_shape, weight, bias, eps=1e-5):\n"
        "    return torch.nn.functional.layer_norm(input, normalized_shape, weight, bias, eps)",
        {"layer_norm": "input for x, normalized_shape is the shape of weight"},
    ),
    "matrices": (
        "def swiglu(h, gate_proj, up_proj, down_proj):\n"
        "    return (torch.nn.functional.silu(h @ gate_proj.T) * (h @ up_proj.T)) @ down_proj.T",
        {"swiglu": "h for x, gate_proj for w1, down_proj for w2, up_proj for w3"},
    ),
    "floor of the length": (
        "def l2_norm(x, dim=-1):\n    return x / x.norm(dim=dim, keepdim=True).clamp(min=1e-12)",
        {"l2_norm": "eps = 1e-12, as a call shows"},
    ),
    "beside the length": (
        "def l2_norm(y):\n    return y / (y.norm(dim=-1, keepdim=True) + 1e-8)",
        {"l2_norm": "eps = 1e-08, as a call shows"},
    ),
    "below the root": (
        "def rms_norm(x, weight):\n    return x / torch.sqrt(x.square().mean(-1, keepdim=True) + 2e-6) * weight",
        {"rms_norm": "eps = 2e-06, as a call shows"},
    ),
    "weights": (
        f"def sdpa(query, key, value):\n    q, k = query, key\n    p = torch.softmax({SCORES}, -1)\n    return p @ value, p",
        {"attention_with_weights": "sdpa for attention_with_weights"},
    ),
    "lse": (
        f"def attention(q, k, v):\n    s = {SCORES}\n    return torch.softmax(s, -1) @ v, s.logsumexp(-1)",
        {"attention_with_lse": "attention for attention_with_lse"},
    ),
    "halves": (
        f"def rotary(y, base=10000.0):{TURN.format(**HALVES)}",
        {"rope": "rotary for rope, base for theta, y for x, layout = half, as a call shows, of the positions 0, 1, 2, …"},
    ),
    "neighbours": (
        f"def rope(y, base):{TURN.format(**NEIGHBOURS)}",
        {"rope": "base for theta, y for x, layout = interleaved, as a call shows, of the positions 0, 1, 2, …"},
    ),
    "another order": (
        "def rms_norm(gamma, epsilon, h):\n    return h * torch.rsqrt((h * h).mean(-1, True) + epsilon) * gamma",
        {"rms_norm": "epsilon for eps, h for x, gamma for weight"},
    ),
    "one keyword left": (
        "def softmax(numbers, i):\n    e = (numbers - numbers.amax(i, True)).exp()\n    return e / e.sum(i, True)",
        {"softmax": "i for axis"},
    ),
    "one array": (NEAR.format(scale=""), {"local_attention": "h for q, scale = 1.0, as a call shows, which is q, k and v"}),
    "one array, scaled": (
        NEAR.format(scale=" / width**0.5"),
        {"local_attention": "h for q, scale = None, as a call shows, which is q, k and v"},
    ),
    "a gain": (
        "def rms_norm(t, gamma, eps):\n    return t * torch.rsqrt((t * t).mean(-1, True) + eps) * (1 + gamma)",
        {"rms_norm": "gain = one plus weight, as a call shows"},
    ),
    "a gain and a bias": (
        "def layer_norm(x, g, b, epsilon=1e-5):\n    return torch.nn.functional.layer_norm(x, x.shape[-1:], 1 + g, b, epsilon)",
        {"layer_norm": "epsilon for eps, gain = one plus weight, as a call shows"},
    ),
    "tanh": (
        "def gelu(t):\n    return torch.nn.functional.gelu(t, approximate='tanh')",
        {"gelu": "approximate = tanh, as a call shows"},
    ),
    "halves of positions": (
        "def rope(y, positions, base):" + TURN.format(**HALVES).replace("torch.arange(y.shape[-2])[:", "positions[..."),
        {"rope": "base for theta, layout = half, as a call shows"},
    ),
    "alibi": (
        "def alibi_bias(length, heads):\n    s = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)\n    i = torch.arange(length)\n"
        "    return -s[:, None, None] * (i[:, None] - i).abs()",
        {
            "alibi_slopes": "the slopes of alibi_bias(length, heads)",
            "alibi_bias": "alibi_bias(length, heads) of one head, divided by its slope",
        },
    ),
}


@pytest.mark.rotating
@pytest.mark.parametrize("case", TAKEN)
def test_what_is_taken_is_said_and_right_code_conforms(case: str) -> None:
    body, expected = TAKEN[case]
    under_test = make(body)
    assert dict(under_test.source.renamed_operations) == expected
    # The slopes of other numbers of heads than powers of two are another rule.
    broken = caught_by(under_test, seed=1, only=".reference").keys() | caught_by(under_test, seed=2, only="every_argument").keys()
    assert broken - {"alibi_slopes.reference"} == set()


WRONG = {  # what is replaced in the code above, and the laws that see it
    "weights": ("return p @ value, p", "return p @ value, p.sqrt()", "attention_with_weights.reference"),
    "halves": ("- b * phi.sin()", "+ b * phi.sin()", "rope.reference"),
    "another order": ("+ epsilon", "- epsilon", "rms_norm.reference"),
    "one array": ("row - window", "row - window + 1", "local_attention.reference"),
    "a gain": ("+ eps)", "+ 2 * eps)", "rms_norm.reference"),
    "floor of the length": ("x.norm(", "1.001 * x.norm(", "l2_norm.reference"),
    "below the root": (
        "sqrt(x.square().mean(-1, keepdim=True) + 2e-6)",
        "sqrt(x.square().mean(-1, keepdim=True)) + 2e-6",
        "rms_norm.reference",
    ),
    "tanh": ("approximate='tanh')", "approximate='tanh') * 1.001", "gelu.reference"),
    "halves of positions": ("- b * phi.sin()", "+ b * phi.sin()", "rope.reference"),
    "alibi": ("(i[:, None] - i).abs()", "(i[:, None] - i).abs() ** 2", "alibi_bias.reference"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_code_in_these_forms_is_caught(case: str) -> None:
    right, wrong, law = WRONG[case]
    body, _ = TAKEN[case]
    assert right in body
    assert law in caught_by(make(body.replace(right, wrong)), seed=1, only=".reference")


def test_a_file_that_states_its_framework_has_the_choices_of_the_equations() -> None:
    bodies = [TAKEN[case][0] for case in ("a gain", "tanh", "halves of positions")]
    under_test = make("\n\n".join([*bodies, "framework, dtypes = 'torch', ('float32',)"]))
    assert dict(under_test.source.renamed_operations) == {"rope": "base for theta"}
    assert {"rms_norm.reference", "gelu.reference", "rope.reference"} <= caught_by(under_test, 1, ".reference").keys()


NOT_TAKEN = {
    "matrices": ("def attention(x, w_qkv, w_o):\n    return x", "scaled_dot_product_attention"),
    "a keyword in an array's place": ("def linear(x, bias, table):\n    return x", "linear"),
}


@pytest.mark.parametrize("case", NOT_TAKEN)
def test_what_cannot_be_an_operation_is_declined_with_a_sentence(case: str) -> None:
    body, operation = NOT_TAKEN[case]
    under_test = make(f"{body}\n\ndef relu(x):\n    return x")
    assert under_test.function(operation) is None
    assert "its first parameters are not" in under_test.describe_absence(operation)


def test_a_function_that_returns_one_array_is_not_called_when_it_is_loaded() -> None:
    body = f"calls = []\n\ndef attention(q, k, v):\n    calls.append(1)\n    return torch.softmax({SCORES}, -1) @ v"
    assert make(body).source.calls == []


@pytest.mark.parametrize(
    ("imports", "framework", "dtype"),
    [
        ("import torch", "torch", "float32"),
        ("from torch import nn", "torch", "float32"),
        ("import numpy as np, math", "numpy", "float64"),
    ],
)
def test_the_only_framework_that_a_file_imports_is_its_own(imports: str, framework: str, dtype: str) -> None:
    under_test = make("def relu(x):\n    return x * (x > 0)", imports)
    assert (under_test.framework.name, under_test.dtypes) == (framework, (dtype,))


def test_of_two_frameworks_none_is_guessed() -> None:
    with pytest.raises(Exception, match="it does not say whose arrays it takes"):
        make("def relu(x):\n    return x", "import numpy as np\nimport torch")
