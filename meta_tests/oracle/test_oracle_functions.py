"""What all functions of the oracle do: compute in float64, accept other number types, and name wrong arguments."""

import importlib
import pkgutil
from typing import Any

import numpy as np
import pytest

import reference_numpy
from reference_numpy.causal_mask import causal_mask
from reference_numpy.feed_forward import feed_forward
from reference_numpy.gelu import gelu
from reference_numpy.grouped_query_attention import grouped_query_attention
from reference_numpy.multihead_self_attention import multihead_self_attention
from reference_numpy.parameter_count import parameter_count
from reference_numpy.rope import rope
from reference_numpy.scaled_dot_product_attention import scaled_dot_product_attention
from reference_numpy.transformer_block import transformer_block
from reference_numpy.transformer_lm import transformer_lm

from ..support.sixty_digits import rng
from ..support.tiny_model import H_KV, D, H, block_weights, model_weights

ATTENTION = [(2, 3, 4), (2, 3, 4), (2, 3, 5)]
CALLS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "linear": ([(2, 3), (4, 3), (4,)], {}),
    "softmax": ([(2, 3)], {"axis": 0}),
    "log_softmax": ([(2, 3)], {"axis": 1}),
    "logsumexp": ([(2, 3)], {"axis": -1}),
    "rms_norm": ([(2, 3), (3,)], {"eps": 1e-5}),
    "layer_norm": ([(2, 3), (3,), (3,)], {"eps": 1e-5}),
    "relu": ([(5,)], {}),
    "sigmoid": ([(5,)], {}),
    "silu": ([(5,)], {}),
    "gelu": ([(5,)], {"approximate": "tanh"}),
    "glu": ([(2, 3), (4, 3), (4, 3)], {}),
    "swiglu": ([(2, 3), (4, 3), (3, 4), (4, 3)], {}),
    "feed_forward": ([(2, 3), (4, 3), (3, 4), (4,), (3,)], {"activation": "gelu"}),
    "gated_activation": ([(2, 6)], {"activation": "gelu_tanh", "layout": "interleaved", "limit": 0.5, "offset": 1.0}),
    "rope": ([(2, 3, 4)], {"positions": np.array([5, 0, 2]), "layout": "half"}),
    "alibi_bias": ([(3,)], {"n": 2, "m": 4}),
    "scaled_dot_product_attention": (ATTENTION, {"mask": np.tri(3, dtype=bool), "is_causal": True}),
    "grouped_query_attention": ([(4, 3, 4), *ATTENTION[1:]], {"mask": np.tri(3, dtype=bool)}),
    "local_attention": (ATTENTION, {"window": 1}),
    "multihead_self_attention": ([(2, 3, 4), *[(4, 4)] * 4], {"num_heads": 2, "theta": 10.0}),
}


def function(name: str) -> Any:
    return getattr(importlib.import_module(f"reference_numpy.{name}"), name)


def arrays(name: str) -> list[Any]:
    return [rng(19 + place).standard_normal(shape) for place, shape in enumerate(CALLS[name][0])]


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
@pytest.mark.parametrize("name", CALLS)
def test_narrow_inputs_are_computed_in_float64(name: str, dtype: str) -> None:
    kind = pytest.importorskip("ml_dtypes").bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    narrow = [a.astype(kind) for a in arrays(name)]
    before = [a.tobytes() for a in narrow]
    got = function(name)(*narrow, **CALLS[name][1])
    assert got.dtype == np.float64
    assert np.array_equal(got, function(name)(*(a.astype(np.float64) for a in narrow), **CALLS[name][1]))
    assert [a.tobytes() for a in narrow] == before


def test_narrow_weights_of_the_model_are_computed_in_float64() -> None:
    w = model_weights(2, rng(20))

    def narrow(tree: Any, dtype: Any) -> Any:
        if isinstance(tree, dict):
            return {key: narrow(part, dtype) for key, part in tree.items()}
        return [narrow(part, dtype) for part in tree] if isinstance(tree, list) else tree.astype(dtype)

    half = narrow(w, np.float16)
    options = {"num_heads": H, "num_kv_heads": H_KV, "theta": 10.0, "eps": 1e-5}
    got = transformer_lm(np.array([1, 2, 3], dtype=np.int32), half, **options)
    assert got.dtype == np.float64
    assert np.array_equal(got, transformer_lm([1, 2, 3], narrow(half, np.float64), **options))


class Tape(np.lib.mixins.NDArrayOperatorsMixin):
    """A number type that wraps float64 and has only the NumPy functions and marks that the equations may rely on."""

    UFUNCS = (
        np.add, np.subtract, np.multiply, np.divide, np.negative, np.matmul, np.exp, np.log, np.sqrt, np.square, np.sin,
        np.cos, np.tanh, np.power, np.absolute, np.maximum, np.minimum,
    )  # fmt: skip
    REDUCTIONS = (np.sum, np.mean, np.max)
    FUNCTIONS = (
        *REDUCTIONS, np.where, np.swapaxes, np.moveaxis, np.reshape, np.stack, np.concatenate, np.repeat, np.squeeze,
        np.expand_dims,
    )  # fmt: skip

    def __init__(self, value: Any) -> None:
        self.value = np.asarray(value, dtype=np.float64)
        self.shape, self.ndim = self.value.shape, self.value.ndim

    def __getitem__(self, index: Any) -> "Tape":
        return Tape(self.value[index])

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **options: Any) -> Any:
        if ufunc not in self.UFUNCS or method != "__call__" or options:
            return NotImplemented
        return Tape(ufunc(*(getattr(a, "value", a) for a in args)))

    def __array_function__(self, f: Any, types: Any, args: Any, options: Any) -> Any:
        if f not in self.FUNCTIONS or (f in self.REDUCTIONS and "axis" not in options):
            return NotImplemented
        plain = [[b.value for b in a] if isinstance(a, list) else getattr(a, "value", a) for a in args]
        return Tape(f(*plain, **options))

    def marked(self) -> "Tape":
        return Tape(self.value)

    rounded = eager = exact = marked

    def __getattr__(self, name: str) -> Any:
        marks = importlib.import_module("reference_numpy._marks")
        if name in ("logistic", "normal_cdf", "finite_or_zero"):
            return lambda: Tape(getattr(marks, name)(self.value))
        raise AttributeError(name)


@pytest.mark.parametrize("name", CALLS)
def test_the_same_lines_run_on_other_number_types(name: str) -> None:
    options = dict(CALLS[name][1])
    expected = function(name)(*arrays(name), **options)
    for key in ("eps", "scale", "theta"):
        if key in options:
            options[key] = Tape(options[key])
    got = function(name)(*map(Tape, arrays(name)), **options)
    assert isinstance(got, Tape)
    assert np.array_equal(got.value, expected)


def test_the_model_runs_on_other_number_types() -> None:
    def wrapped(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {key: wrapped(part) for key, part in tree.items()}
        return [wrapped(part) for part in tree] if isinstance(tree, list) else Tape(tree)

    w, options = model_weights(2, rng(21)), {"num_heads": H, "num_kv_heads": H_KV}
    plain = transformer_lm([1, 2, 3], w, theta=10.0, eps=1e-5, **options)
    got = transformer_lm([1, 2, 3], wrapped(w), theta=Tape(10.0), eps=Tape(1e-5), **options)
    assert np.array_equal(got.value, plain)


def test_one_file_is_one_public_function_of_its_name() -> None:
    for module in pkgutil.iter_modules(reference_numpy.__path__):
        if not module.name.startswith("_"):
            namespace = vars(importlib.import_module(f"reference_numpy.{module.name}"))
            own = [k for k, v in namespace.items() if getattr(v, "__module__", "") == f"reference_numpy.{module.name}"]
            assert [k for k in own if not k.startswith("_")] == [module.name]


BLOCK = block_weights(rng(22))
WRONG = {
    "gelu": (
        lambda: gelu([1.0], approximate="erf"),
        "gelu: approximate='erf' is unknown; there are 'none' and 'tanh'.",
    ),
    "activation": (
        lambda: feed_forward([1.0], [[1.0]], [[1.0]], activation="silu"),
        "feed_forward: activation='silu' is unknown; there are 'relu' and 'gelu'.",
    ),
    "rope layout": (
        lambda: rope([[1.0, 2.0]], [0], layout="full"),
        "rope: layout='full' is unknown; there are 'interleaved' and 'half'.",
    ),
    "rope frequencies": (
        lambda: rope([[1.0, 2.0]], [0], [1.0, 0.1]),
        "rope: inverse_frequencies has shape (2,); 2 features need (1,).",
    ),
    "odd d_k": (lambda: rope([[1.0, 2.0, 3.0]], [0]), "rope: d_k = 3 is odd; features are turned in pairs."),
    "aligned": (
        lambda: causal_mask(n=2, aligned="left"),
        "causal_mask: aligned='left' is unknown; there are 'bottom-right' and 'top-left'.",
    ),
    "causal": (
        lambda: scaled_dot_product_attention(np.ones((2, 1)), np.ones((3, 1)), np.ones((3, 1)), is_causal=True),
        "scaled_dot_product_attention: is_causal is defined here for n = m; build a mask with causal_mask (n = 2, m = 3).",
    ),
    "groups": (
        lambda: grouped_query_attention(np.ones((3, 1, 1)), np.ones((2, 1, 1)), np.ones((2, 1, 1))),
        "grouped_query_attention: 3 query heads cannot be shared evenly by 2 key/value heads.",
    ),
    "heads": (
        lambda: multihead_self_attention(np.ones((1, 4)), *[np.ones((4, 4))] * 4, num_heads=3),
        "multihead_self_attention: the 4 rows of w_q do not make 3 heads.",
    ),
    "key heads": (
        lambda: multihead_self_attention(np.ones((1, 4)), *[np.ones((4, 4))] * 4, num_heads=4, num_kv_heads=3),
        "multihead_self_attention: the 4 rows of w_k do not make 3 heads.",
    ),
    "heads in groups": (
        lambda: multihead_self_attention(np.ones((1, 6)), *[np.ones((6, 6))] * 4, num_heads=2, num_kv_heads=3),
        "grouped_query_attention: 2 query heads cannot be shared evenly by 3 key/value heads.",
    ),
    "norm": (
        lambda: transformer_block(np.ones((1, D)), BLOCK, num_heads=H, num_kv_heads=H_KV, eps=1e-5, norm="sandwich"),
        "transformer_block: norm='sandwich' is unknown; there are 'pre' and 'post'.",
    ),
    "router": (
        lambda: transformer_block(np.ones((1, D)), BLOCK | {"router": np.ones((2, D))}, num_heads=H, num_kv_heads=H_KV, eps=1e-5),
        "transformer_block: with a router k is needed, the number of experts of each token.",
    ),
    "style": (
        lambda: parameter_count(d_model=4, d_ff=8, num_layers=1, style="both"),
        "parameter_count: style='both' is unknown; there are 'decoder' and 'encoder'.",
    ),
    "counted heads": (
        lambda: parameter_count(d_model=6, d_ff=8, num_layers=1, num_heads=3, num_kv_heads=2),
        "parameter_count: 3 query heads cannot be shared evenly by 2 key/value heads.",
    ),
}


@pytest.mark.parametrize(("call", "text"), WRONG.values(), ids=WRONG)
def test_wrong_arguments_are_named(call: Any, text: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        call()
    assert str(raised.value) == text


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(5, 0, 0), (0, 3), (3, 0)])
def test_an_axis_without_entries_has_the_softmax_and_the_logsumexp_of_frameworks(shape: tuple[int, ...], axis: int) -> None:
    torch = pytest.importorskip("torch")
    x = torch.zeros(shape, dtype=torch.float64)
    assert function("softmax")(x.numpy(), axis=axis).shape == torch.softmax(x, axis).shape == shape
    assert function("log_softmax")(x.numpy(), axis=axis).shape == torch.log_softmax(x, axis).shape == shape
    assert np.array_equal(function("logsumexp")(x.numpy(), axis=axis), torch.logsumexp(x, axis).numpy())
    (dx,) = function("softmax_vjp")(x.numpy(), x.numpy(), axis=axis)
    assert dx.shape == shape
