"""What a KernelBench problem may be: what PyTorch computes for it, and how the operation calls the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ._imported import import_torch

Bind = Callable[[Any, Any], Callable[..., Any]]  # of the kernel's class and the small problem: the operation
ATTENTION_DOMAIN: Mapping[str, Any] = MappingProxyType({"batch_dims": (2,), "m": "n", "d_v": "d_k", "empty": False})
EPS = (1e-5, 1e-6, 1e-8, 1e-12, 0.0)  # that people write, beside the numbers that a model keeps
ROWS: Mapping[str, Any] = MappingProxyType({"batch_dims": (1,), "empty": False})


@dataclass(frozen=True, eq=False)
class Candidate:
    """One operation, as a problem of one form states it."""

    operation: str
    words: str
    evaluate: Callable[[tuple[Any, ...]], Any]  # None if it takes no such arrays
    bind: Bind
    domain: Mapping[str, Any] = field(default_factory=dict)


def _functional() -> Any:
    return import_torch().nn.functional


def _run(kernel: Any, init: tuple[Any, ...], *arrays: Any) -> Any:
    return kernel(*init).eval().to(arrays[0].device)(*arrays)


def _bind_plain(kernel: Any, small: Any) -> Callable[..., Any]:
    def operation(x: Any) -> Any:
        return _run(kernel, small.init, x)

    return operation


def _bind_gelu(kernel: Any, small: Any) -> Callable[..., Any]:
    def gelu(x: Any, *, approximate: str) -> Any:
        return _run(kernel, small.init, x)

    return gelu


def _bind_along_axis(kernel: Any, small: Any) -> Callable[..., Any]:
    def operation(x: Any, *, axis: int) -> Any:
        return _run(kernel, small.init, x)

    return operation


def _bind_rms_norm(kernel: Any, small: Any) -> Callable[..., Any]:
    """The problem has no weight and averages over dimension 1, so the rows are moved there and the weight comes after it."""

    def rms_norm(x: Any, weight: Any, *, eps: float) -> Any:
        rows = x.movedim(-1, 1)
        init = small.make_init({small.shapes[0][1]: x.shape[-1]})
        return _run(kernel, init, rows).movedim(1, -1) * weight

    return rms_norm


def _bind_l2_norm(kernel: Any, small: Any) -> Callable[..., Any]:
    def l2_norm(x: Any, *, eps: float) -> Any:
        return _run(kernel, small.init, x)

    return l2_norm


def _bind_layer_norm(kernel: Any, small: Any) -> Callable[..., Any]:
    """The problem norms over all dimensions but the first, so the row becomes the first of these and the others have size 1."""

    def layer_norm(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
        shape = (x.shape[-1],) + (1,) * (len(small.shapes[0]) - 2)
        module = kernel(shape).eval().to(x.device)
        names = [name for name, _ in module.named_parameters()]
        if len(names) != 2:
            raise NotImplementedError(f"its parameters are {', '.join(names) or 'none'}")
        state = dict(zip(names, (weight.reshape(shape), bias.reshape(shape)), strict=True))
        return import_torch().func.functional_call(module, state, (x.reshape(-1, *shape),)).reshape(x.shape)

    return layer_norm


def _bind_linear(transposes_a: bool, transposes_b: bool) -> Bind:
    def bind(kernel: Any, small: Any) -> Callable[..., Any]:
        def linear(x: Any, weight: Any) -> Any:
            a, b = x.mT if transposes_a else x, weight if transposes_b else weight.mT
            return _run(kernel, small.init, a.contiguous(), b.contiguous())

        return linear

    return bind


def _bind_attention(kernel: Any, small: Any) -> Callable[..., Any]:
    def scaled_dot_product_attention(q: Any, k: Any, v: Any, *, is_causal: bool) -> Any:
        return _run(kernel, small.init, q, k, v)

    return scaled_dot_product_attention


def _bind_cross_entropy(kernel: Any, small: Any) -> Callable[..., Any]:
    def cross_entropy(logits: Any, targets: Any) -> Any:
        return _run(kernel, small.init, logits, targets)

    return cross_entropy


def _only(inputs: tuple[Any, ...]) -> Any:
    (x,) = inputs
    return x


def _pointwise(operation: str, name: str, words: str = "", **options: Any) -> Candidate:
    domain = {key: (value,) for key, value in options.items()}
    bind = _bind_gelu if options else _bind_plain
    return Candidate(
        operation, words or "element by element", lambda x: getattr(_functional(), name)(_only(x), **options), bind, domain
    )


def _along_axis(operation: str) -> Candidate:
    return Candidate(
        operation, "over the last axis of two", lambda x: getattr(_functional(), operation)(_only(x), dim=1),
        _bind_along_axis, {**ROWS, "axis": (-1,)},
    )  # fmt: skip


def _rms_norm(eps: float) -> Candidate:
    def evaluate(inputs: tuple[Any, ...]) -> Any:
        x = _only(inputs)
        return x / (x.square().mean(1, keepdim=True) + eps).sqrt() if x.ndim > 2 else None

    return Candidate(
        "rms_norm", "over dimension 1; its result is multiplied by the weight", evaluate, _bind_rms_norm,
        {"batch_dims": (3,), "empty": False, "eps": (eps,)},
    )  # fmt: skip


def _l2_norm(eps: float, *, inside: bool = True) -> Candidate:
    def evaluate(inputs: tuple[Any, ...]) -> Any:
        x = _only(inputs)
        if x.ndim != 2:
            return None
        return x / (x.square().sum(1, keepdim=True) + eps).sqrt() if inside else _functional().normalize(x, eps=eps)

    words = "over the last axis of two" if inside else "over the last axis of two, by the larger of the length and epsilon"
    return Candidate("l2_norm", words, evaluate, _bind_l2_norm, {**ROWS, "eps": (eps,)})


def _layer_norm(eps: float) -> Candidate:
    def evaluate(inputs: tuple[Any, ...]) -> Any:
        x = _only(inputs)
        return _functional().layer_norm(x, x.shape[1:], eps=eps)

    return Candidate("layer_norm", "over all dimensions but the first", evaluate, _bind_layer_norm, {**ROWS, "eps": (eps,)})


def _linear(transposes_a: bool, transposes_b: bool, rank: int = 2) -> Candidate:
    """The product of two matrices, or of an array A of so many axes, whose rows are multiplied, with a matrix B."""

    def evaluate(inputs: tuple[Any, ...]) -> Any:
        a, b = inputs
        is_one = a.ndim == rank and b.ndim == 2
        return (a.mT if transposes_a else a) @ (b.mT if transposes_b else b) if is_one else None

    words = f"the product of {'the transpose of ' * transposes_a}A and {'the transpose of ' * transposes_b}B"
    return Candidate("linear", words, evaluate, _bind_linear(transposes_a, transposes_b), {**ROWS, "batch_dims": (rank - 1,)})


def _attention(is_causal: bool) -> Candidate:
    def evaluate(inputs: tuple[Any, ...]) -> Any:
        q, k, v = inputs
        return _functional().scaled_dot_product_attention(q, k, v, is_causal=is_causal) if q.ndim == 4 else None

    words = f"of (batch, heads, n, d), {'causal' if is_causal else 'without a mask'}"
    return Candidate(
        "scaled_dot_product_attention", words, evaluate, _bind_attention, {**ATTENTION_DOMAIN, "is_causal": (is_causal,)}
    )


def list_candidates(numbers: tuple[float, ...] = ()) -> tuple[Candidate, ...]:
    """Return what a problem may be. Its epsilon is one that people write, or one of these numbers."""
    epsilons = tuple(dict.fromkeys((*EPS, *(number for number in numbers if 0 < number < 1))))
    return (
        *PLAIN_CANDIDATES,
        *(_rms_norm(eps) for eps in epsilons),
        *(_layer_norm(eps) for eps in epsilons),
        *(_l2_norm(eps, inside=inside) for eps in epsilons for inside in (True, False) if eps or inside),
    )


PLAIN_CANDIDATES = (
    _pointwise("relu", "relu"),
    _pointwise("sigmoid", "sigmoid"),
    _pointwise("silu", "silu"),
    _pointwise("gelu", "gelu", "exact", approximate="none"),
    _pointwise("gelu", "gelu", "with tanh", approximate="tanh"),
    _along_axis("softmax"),
    _along_axis("log_softmax"),
    *(_linear(a, b) for a in (False, True) for b in (False, True)),
    *(_linear(False, b, rank) for b in (False, True) for rank in (3, 4)),
    _attention(False),
    _attention(True),
    Candidate("cross_entropy", "the mean over rows", lambda x: _functional().cross_entropy(*x), _bind_cross_entropy, ROWS),
)
