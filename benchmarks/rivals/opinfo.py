"""PyTorch's own test inputs (OpInfo) in its four floating dtypes.

torch.testing.assert_close, with its defaults, compares each answer with PyTorch's, as PyTorch compares a device with the CPU.
Only the forward pass is tested, and the random generator's seed is 0.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import Absent, Judge
from . import cases as fixed
from .cases import Case

TITLE = "PyTorch OpInfo, assert_close"
START = "import torch.testing._internal.common_methods_invocations"
Mapped = tuple[tuple[Any, ...], dict[str, Any]]  # positional and keyword arguments of an operation of this project


def build_judge() -> Judge:
    return fixed.build_judge(cases())


def cases() -> Iterator[Case]:
    try:
        torch = importlib.import_module("torch")
        samples = importlib.import_module("torch.testing._internal.common_methods_invocations")
    except ImportError as error:
        raise Absent(f"PyTorch's OpInfo needs torch and expecttest ({error}): pip install -e '.[bench]'") from None
    for info in samples.op_db:
        if info.name in MAPPERS and not info.variant_test_name:
            operation, map_sample = MAPPERS[info.name]
            for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
                torch.manual_seed(0)
                for sample in info.sample_inputs("cpu", dtype) if dtype in info.dtypes else ():
                    call = map_sample(sample.input, *sample.args, **sample.kwargs)
                    if call is not None:
                        expected = info.op(sample.input, *sample.args, **sample.kwargs)
                        yield Case(operation, *_to_numpy(call), _make_comparison(expected))


def _to_numpy(call: Mapped) -> Mapped:
    arguments, keywords = call
    return tuple(map(_to_array, arguments)), {name: _to_array(x) for name, x in keywords.items()}


def _to_array(x: Any) -> Any:
    """Return a NumPy array of the same dtype; ml_dtypes provides bfloat16."""
    if not hasattr(x, "detach"):
        return x
    x = x.detach()
    if str(x.dtype) != "torch.bfloat16":
        return x.numpy()
    from ml_dtypes import bfloat16

    return x.float().numpy().astype(bfloat16)


def _make_comparison(expected: Any) -> Callable[[Any], None]:
    def compare(answer: Any) -> None:
        import torch

        y = np.asarray(answer)
        half = y.dtype.name == "bfloat16"
        native = torch.from_numpy(np.ascontiguousarray(y.astype(np.float32) if half else y).copy()).reshape(y.shape)
        torch.testing.assert_close(native.bfloat16() if half else native, expected.detach())

    return compare


def _map_pointwise(x: Any, *args: Any, inplace: bool = False, **keywords: Any) -> Mapped:
    return (x,), keywords


def _map_along_axis(x: Any, dim: Any = None, *args: Any, **keywords: Any) -> Mapped | None:
    return ((x,), {"axis": dim}) if isinstance(dim, int) and x.ndim and not keywords.get("dtype") else None


def _map_logsumexp(x: Any, dim: Any, keepdim: bool = False) -> Mapped | None:
    axes = (dim,) if isinstance(dim, int) else tuple(dim)
    return ((x,), {"axis": axes[0]}) if len(axes) == 1 and x.ndim and not keepdim else None


def _map_layer_norm(x: Any, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Mapped | None:
    return None if len(shape) != 1 or weight is None or bias is None else ((x, weight, bias), {"eps": eps})


def _map_rms_norm(x: Any, shape: Any, weight: Any = None, eps: float | None = None) -> Mapped | None:
    import torch

    if len(shape) != 1 or weight is None:
        return None
    return (x, weight), {"eps": torch.finfo(x.dtype).eps if eps is None else eps}


def _map_linear(x: Any, weight: Any, bias: Any = None) -> Mapped | None:
    return None if weight.ndim != 2 else ((x, weight) if bias is None else (x, weight, bias), {})


def _map_embedding(weight: Any, ids: Any, **keywords: Any) -> Mapped | None:
    return None if keywords.get("max_norm") is not None else ((ids, weight), {})


def _map_attention(q: Any, k: Any, v: Any, attn_mask: Any = None, dropout_p: float = 0.0, **options: Any) -> Mapped | None:
    causal, grouped = options.get("is_causal", False), options.get("enable_gqa", False)
    if dropout_p or grouped:
        return None
    keywords = {"scale": options["scale"]} if options.get("scale") is not None else {}
    if causal and q.shape[-2] == k.shape[-2]:
        keywords["is_causal"] = True
    elif causal:  # PyTorch aligns the mask top-left
        keywords["mask"] = np.tri(q.shape[-2], k.shape[-2], dtype=bool)
    if attn_mask is not None:
        keywords["mask" if str(attn_mask.dtype) == "torch.bool" else "bias"] = attn_mask
    return (q, k, v), keywords


MAPPERS: dict[str, tuple[str, Callable[..., Mapped | None]]] = {
    **{f"nn.functional.{name}": (name, _map_pointwise) for name in ("relu", "silu", "gelu")},
    "sigmoid": ("sigmoid", _map_pointwise),
    "softmax": ("softmax", _map_along_axis), "log_softmax": ("log_softmax", _map_along_axis),
    "logsumexp": ("logsumexp", _map_logsumexp),
    "nn.functional.layer_norm": ("layer_norm", _map_layer_norm), "nn.functional.rms_norm": ("rms_norm", _map_rms_norm),
    "nn.functional.linear": ("linear", _map_linear), "nn.functional.embedding": ("embedding", _map_embedding),
    "nn.functional.scaled_dot_product_attention": ("scaled_dot_product_attention", _map_attention),
}  # fmt: skip
