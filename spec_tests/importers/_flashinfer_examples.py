"""Whether the reference of a definition computes the operation that its form suggests, and under which conventions.

Both are compared on one small example. The reference returns values of a dtype: they may differ by one step of it at the largest
value, since it rounds once, and what precedes is in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from ._flashinfer_definition import Definition
from ._imported import NotTaken, import_torch

SMALL, EPS = 3, 1e-5  # a size that the definition leaves open
LN_2 = 0.6931471805599453


class Example:
    """One call of an operation on a reference, with its values in PyTorch."""

    def __init__(self, stated: Definition, operation: str, function: Callable[..., Any]) -> None:
        self.stated, self.operation, self.function = stated, operation, function
        self.generator = import_torch().Generator().manual_seed(0)

    def find_conventions(self) -> dict[str, str]:
        """Return the conventions that the reference follows. Raise NotTaken if it computes something else than the operation."""
        if self.operation not in EXAMPLES:
            return {}
        arguments, options, expected = EXAMPLES[self.operation](self)
        try:
            answer = self.function(*arguments, **options)
        except Exception as error:  # of the reference itself
            raise NotTaken(f"its reference raised {type(error).__name__}: {error}") from error
        answers = answer if isinstance(answer, tuple) else (answer,)
        gaps = []
        for conventions, values in expected:
            found = [self._measure(x, y) for x, y in zip(answers, values, strict=False)]
            if max(found) <= 1:
                return conventions
            gaps.append(max(found))
        raise NotTaken(f"its reference is not {self.operation}: it differs by {min(gaps):.3g} steps of its dtype on an example")

    def _measure(self, answer: Any, expected: Any) -> float:
        """Return the largest difference, in steps of the answer's dtype at the largest value."""
        if answer.shape != expected.shape:
            return float("inf")
        step = float(expected.abs().max()) * import_torch().finfo(answer.dtype).eps
        return float((answer.double() - expected).abs().nan_to_num(nan=float("inf")).max()) / step if step else 0.0

    def size(self, axis: str) -> int:
        return int(self.stated.fixed.get(axis, SMALL))

    def draw(self, *shape: int) -> Any:
        """Return random numbers that the stated dtype holds."""
        torch = import_torch()
        return torch.randn(*shape, generator=self.generator).to(getattr(torch, self.stated.dtypes[0]))

    def like(self, name: str) -> Any:
        return self.draw(*(self.size(axis) for axis in self.stated.shape(name)))

    @property
    def first(self) -> str:
        return next(iter(self.stated.inputs))


Expected = Iterator[tuple[dict[str, str], tuple[Any, ...]]]
Parts = tuple[tuple[Any, ...], dict[str, Any], Expected]  # the arguments, the options, and values under each convention


def _norm(example: Example, *, adds: bool) -> Parts:
    states = [name for name in example.stated.inputs if len(example.stated.shape(name)) > 1]
    x, *residual = (example.like(name) for name in (states if adds else states[:1]))
    weight = example.like("weight")
    eps = EPS if "eps" in example.stated.inputs else example.stated.find_epsilon()
    h = x.double() + sum(y.double() for y in residual)
    unit = h / (h.square().mean(-1, keepdim=True) + eps).sqrt()

    def expect() -> Expected:
        for value, shift in (("", 0.0), ("one plus weight", 1.0)):
            yield {"gain": value} if value else {}, (unit * (shift + weight.double()),)

    return (x, *residual, weight), {"eps": eps}, expect()


def _softmax(example: Example, *, logarithm: bool) -> Parts:
    x, torch = example.like(example.first), import_torch()
    y = (torch.log_softmax if logarithm else torch.softmax)(x.double(), -1)
    return (x,), {"axis": -1}, iter([({}, (y,))])


def _pointwise(example: Example) -> Parts:
    x, functional = example.like(example.first), import_torch().nn.functional
    options = {}
    if example.operation == "gelu":
        options = {"approximate": "tanh" if "tanh" in example.stated.words else "none"}
    y = getattr(functional if example.operation != "sigmoid" else import_torch(), example.operation)(x.double(), **options)
    return (x,), options, iter([({}, (y,))])


def _gated(example: Example) -> Parts:
    names, functional = list(example.stated.inputs), import_torch().nn.functional
    x = import_torch().cat([example.like(name) for name in names], -1)
    if len(names) == 1 and x.shape[-1] % 2:
        x = x[..., :-1]
    a, b = x.double().chunk(2, -1)
    activations = {
        "silu": functional.silu,
        "gelu": functional.gelu,
        "gelu_tanh": lambda y: functional.gelu(y, approximate="tanh"),
    }
    expected: Expected = iter([({}, (f(a) * b,)) for f in activations.values()])
    return (x,), {"activation": "", "layout": "concatenated", "gate": "first"}, expected


def _attention_with_lse(example: Example) -> Parts:
    is_paged = "k_cache" in example.stated.inputs
    q_name, k_name, v_name = ("q", "k_cache", "v_cache") if is_paged else ("q", "k", "v")
    *_, h, width = (example.size(axis) for axis in example.stated.shape(q_name))
    *_, h_kv, _ = (example.size(axis) for axis in example.stated.shape(k_name))
    width_of_values = example.size(example.stated.shape(v_name)[-1])
    n = 1 if is_paged else SMALL
    q, k, v = example.draw(2, h, n, width), example.draw(2, h_kv, SMALL, width), example.draw(2, h_kv, SMALL, width_of_values)
    torch = import_torch()
    keys, values = (x.double().repeat_interleave(h // h_kv, 1) for x in (k, v))
    scores = q.double() @ keys.mT * width**-0.5
    if not is_paged:
        scores = scores.masked_fill(torch.ones(n, SMALL).triu(1).bool(), -torch.inf)
    out, lse = torch.softmax(scores, -1) @ values, scores.logsumexp(-1)
    expected = iter([({"lse_base": "2"}, (out, lse / LN_2)), ({"lse_base": "e"}, (out, lse))])
    return (q, k, v), {} if is_paged else {"is_causal": True}, expected


def _ragged_attention(example: Example) -> Parts:
    """The same example, its two sequences one after the other."""
    (q, k, v), options, expected = _attention_with_lse(example)
    starts = import_torch().arange(3) * SMALL
    packed = (x.transpose(1, 2).flatten(0, 1) for x in (q, k, v))
    values: Expected = (({}, (out.transpose(1, 2).flatten(0, 1),)) for _, (out, _) in expected)
    return (*packed, starts, starts), options, values


def _paged_attention(example: Example) -> Parts:
    """The same example, the keys of each sequence in pages of its own."""
    torch, size = import_torch(), example.size(example.stated.shape("k_cache")[1])
    (q, k, v), _, expected = _attention_with_lse(example)
    pages = -(-SMALL // size)

    def spread(x: Any) -> Any:
        padded = torch.nn.functional.pad(x.transpose(1, 2), (0, 0, 0, 0, 0, pages * size - SMALL))
        return padded.reshape(2 * pages, size, *padded.shape[2:])

    table, lengths = torch.arange(2 * pages).reshape(2, pages), torch.full((2,), SMALL)
    return (q, spread(k), spread(v), table, lengths), {"is_causal": True}, (({}, (out,)) for _, (out, _) in expected)


EXAMPLES: Mapping[str, Callable[[Example], Parts]] = MappingProxyType(
    {
        "rms_norm": lambda example: _norm(example, adds=False),
        "add_rms_norm": lambda example: _norm(example, adds=True),
        "softmax": lambda example: _softmax(example, logarithm=False),
        "log_softmax": lambda example: _softmax(example, logarithm=True),
        **dict.fromkeys(("silu", "relu", "sigmoid", "gelu"), _pointwise),
        "gated_activation": _gated,
        "attention_with_lse": _attention_with_lse,
        "variable_length_attention": _ragged_attention,
        "paged_attention": _paged_attention,
    }
)
