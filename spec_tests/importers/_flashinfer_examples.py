"""Whether the reference of a definition computes the operation that its form suggests, and under which conventions.

Both are compared on one small example. The reference returns values of a dtype: they may differ by one step of it at the largest
value, since it rounds once. What precedes is in float32, where a sum of n terms may be off by n steps, in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from ._flashinfer_attention import has_several_queries
from ._flashinfer_definition import Definition
from ._imported import RAISED, NotTaken, import_torch, say

SMALL, EPS = 3, 1e-5  # a size that the definition leaves open
FUNCTIONS = 8  # roundings in float32 on the way to a result, beside those of sums; no equation here has more
SCALES = (1.0, 0.01, 16.0)  # of the inputs: epsilon shows where they are small, caps and limits where they are large
LN_2 = 0.6931471805599453


@dataclass(frozen=True)
class Reading:
    """One form that a definition may have: the conventions and the option of it, and the values of its results."""

    values: tuple[Any, ...]
    conventions: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    rounds_steps: bool = False  # whether the reference rounds more than its result to the dtype


Readings = Callable[..., Iterator[Reading]]  # of the arguments
Parts = tuple[tuple[Any, ...], dict[str, Any], Readings]  # the arguments, the options that are passed, and the forms


class Example:
    """Some calls of an operation on a reference, with the values of its forms in PyTorch."""

    def __init__(self, stated: Definition, operation: str, function: Callable[..., Any], scale: float = 1.0) -> None:
        self.stated, self.operation, self.function, self.scale = stated, operation, function, scale
        self.generator = import_torch().Generator().manual_seed(0)
        self.steps = 1  # of its dtype, that the reference may be off by: it rounds once
        self.terms = 0  # of its sums, each of which is rounded in float32

    def list_shares(self) -> list[tuple[float, Reading]]:
        """Return each form with the largest difference from it, as a share of what rounding allows.

        A form says whether the result differs by more than its own rounding and what precedes it in float32.
        """
        arguments, options, read = EXAMPLES[self.operation](self)
        try:
            answer = self.function(*arguments, **options)
        except RAISED as error:  # of the reference itself
            raise NotTaken(f"its reference raised {say(error)}") from error
        answers = answer if isinstance(answer, tuple) else (answer,)
        found = []
        for reading in read():
            pairs = list(zip(answers, reading.values, strict=False))
            share = max(self._measure(x, y) for x, y in pairs)
            found.append((share, replace(reading, rounds_steps=share <= 1 and any(self._rounds_steps(x, y) for x, y in pairs))))
        return found

    def _measure(self, answer: Any, expected: Any) -> float:
        """Return the largest difference, as a share of what rounding allows at the largest value."""
        if answer.shape != expected.shape:
            return float("inf")
        finfo = import_torch().finfo
        allowed = self.steps * finfo(answer.dtype).eps + (self.terms + FUNCTIONS) * finfo(import_torch().float32).eps
        step = float(expected.abs().max()) * allowed
        return float((answer.double() - expected).abs().nan_to_num(nan=float("inf")).max()) / step if step else 0.0

    def _rounds_steps(self, answer: Any, expected: Any) -> bool:
        """Whether an element differs by more than half a step at its own value."""
        torch = import_torch()
        in_float32 = (self.terms + FUNCTIONS) * torch.finfo(torch.float32).eps * expected.abs().max()
        half_step = torch.finfo(answer.dtype).eps / 2 * torch.exp2(torch.frexp(expected).exponent - 1.0)
        return bool(((answer.double() - expected).abs() > half_step + in_float32).any())

    def size(self, axis: str) -> int:
        return int(self.stated.fixed.get(axis, SMALL))

    def draw(self, *shape: int, scale: float = 1.0) -> Any:
        """Return random numbers that the stated dtype holds."""
        torch = import_torch()
        return (torch.randn(*shape, generator=self.generator) * scale).to(getattr(torch, self.stated.dtypes[0]))

    def like(self, name: str, scale: float = 1.0) -> Any:
        return self.draw(*(self.size(axis) for axis in self.stated.shape(name)), scale=scale)

    @property
    def first(self) -> str:
        return next(iter(self.stated.inputs))


def find_form(stated: Definition, operation: str, function: Callable[..., Any]) -> Reading:
    """Return the first form that the reference follows on inputs of every scale. Raise NotTaken if it follows none."""
    if operation not in EXAMPLES:
        return Reading(())
    shares = [Example(stated, operation, function, scale).list_shares() for scale in SCALES]
    worst = [max(share for share, _ in found) for found in zip(*shares, strict=True)]
    fitting = [reading for share, (_, reading) in zip(worst, shares[0], strict=True) if share <= 1]
    if not fitting:
        raise NotTaken(f"its reference is not {operation}: it differs by {min(worst):.3g} x what rounding allows on an example")
    rounds = any(of_scale.rounds_steps for found in shares for _, of_scale in found if _is_form(of_scale, fitting[0]))
    return replace(fitting[0], rounds_steps=rounds)


def _is_form(one: Reading, other: Reading) -> bool:
    return (one.conventions, one.options) == (other.conventions, other.options)


def _norm(example: Example, *, adds: bool) -> Parts:
    states = [name for name in example.stated.inputs if len(example.stated.shape(name)) > 1]
    x, *residual = (example.like(name, example.scale) for name in (states if adds else states[:1]))
    weight = example.like("weight")
    eps = EPS if "eps" in example.stated.inputs else example.stated.find_epsilon()
    h = x.double() + sum(y.double() for y in residual)
    example.terms = h.shape[-1]
    unit = h / (h.square().mean(-1, keepdim=True) + eps).sqrt()

    def read() -> Iterator[Reading]:
        for value, shift in (("", 0.0), ("one plus weight", 1.0)):
            yield Reading((unit * (shift + weight.double()), h)[: 1 + adds], {"gain": value} if value else {})

    return (x, *residual, weight), {"eps": eps}, read


def _softmax(example: Example, *, logarithm: bool) -> Parts:
    x, torch = example.like(example.first, example.scale), import_torch()
    example.terms = x.shape[-1]
    y = (torch.log_softmax if logarithm else torch.softmax)(x.double(), -1)
    return (x,), {"axis": -1}, lambda: iter([Reading((y,))])


def _pointwise(example: Example) -> Parts:
    x, torch = example.like(example.first, example.scale), import_torch()
    y = getattr(torch if example.operation == "sigmoid" else torch.nn.functional, example.operation)(x.double())
    return (x,), {}, lambda: iter([Reading((y,))])


def _gelu(example: Example) -> Parts:
    x, gelu = example.like(example.first, example.scale), import_torch().nn.functional.gelu

    def read() -> Iterator[Reading]:
        for form in ("none", "tanh"):
            yield Reading((gelu(x.double(), approximate=form),), options={"approximate": form})

    return (x,), {"approximate": ""}, read


def _gated(example: Example) -> Parts:
    names, functional = list(example.stated.inputs), import_torch().nn.functional
    x = import_torch().cat([example.like(name, example.scale) for name in names], -1)
    if len(names) == 1 and x.shape[-1] % 2:
        x = x[..., :-1]
    a, b = x.double().chunk(2, -1)
    activations = {
        "silu": functional.silu,
        "gelu": functional.gelu,
        "gelu_tanh": lambda y: functional.gelu(y, approximate="tanh"),
    }

    def read() -> Iterator[Reading]:
        for name, activation in activations.items():
            yield Reading((activation(a) * b,), options={"activation": name})

    return (x,), {"activation": "", "layout": "concatenated", "gate": "first"}, read


def _attention_with_lse(example: Example) -> Parts:
    is_paged = "k_cache" in example.stated.inputs
    q_name, k_name, v_name = ("q", "k_cache", "v_cache") if is_paged else ("q", "k", "v")
    *_, h, width = (example.size(axis) for axis in example.stated.shape(q_name))
    *_, h_kv, _ = (example.size(axis) for axis in example.stated.shape(k_name))
    width_of_values = example.size(example.stated.shape(v_name)[-1])
    is_decode = is_paged and not has_several_queries(example.stated)
    n = 1 if is_decode else SMALL
    q, k, v = (
        example.draw(2, h, n, width, scale=example.scale),
        example.draw(2, h_kv, SMALL, width),
        example.draw(2, h_kv, SMALL, width_of_values),
    )
    torch, example.terms = import_torch(), width + SMALL
    keys, values = (x.double().repeat_interleave(h // h_kv, 1) for x in (k, v))
    scores = q.double() @ keys.mT * width**-0.5
    if not is_decode:
        scores = scores.masked_fill(torch.ones(n, SMALL).triu(1).bool(), -torch.inf)
    out, lse = torch.softmax(scores, -1) @ values, scores.logsumexp(-1)

    def read() -> Iterator[Reading]:
        yield Reading((out, lse / LN_2), {"lse_base": "2"})
        yield Reading((out, lse), {"lse_base": "e"})

    return (q, k, v), {} if is_decode else {"is_causal": True}, read


def _ragged_attention(example: Example) -> Parts:
    """The same example, its two sequences one after the other."""
    (q, k, v), options, read = _attention_with_lse(example)
    starts = import_torch().arange(3) * SMALL
    packed = (x.transpose(1, 2).flatten(0, 1) for x in (q, k, v))
    out, _ = next(read()).values
    return (*packed, starts, starts), options, lambda: iter([Reading((out.transpose(1, 2).flatten(0, 1),))])


def _paged_attention(example: Example) -> Parts:
    """The same example, the keys of each sequence in pages of its own."""
    torch, size = import_torch(), example.size(example.stated.shape("k_cache")[1])
    (q, k, v), _, read = _attention_with_lse(example)
    out, _ = next(read()).values
    pages = -(-SMALL // size)

    def spread(x: Any) -> Any:
        padded = torch.nn.functional.pad(x.transpose(1, 2), (0, 0, 0, 0, 0, pages * size - SMALL))
        return padded.reshape(2 * pages, size, *padded.shape[2:])

    table, lengths = torch.arange(2 * pages).reshape(2, pages), torch.full((2,), SMALL)
    return (q, spread(k), spread(v), table, lengths), {"is_causal": True}, lambda: iter([Reading((out,))])


def _rope(example: Example) -> Parts:
    """The rotation of two rows, whose products and sums may each be rounded to the dtype, as the tables are."""
    torch, width, example.steps = import_torch(), example.size(example.stated.shape("q")[-1]), 4
    table = next(name for name in example.stated.inputs if name.startswith("cos"))
    r = min(example.size(example.stated.shape(table)[-1]), width)
    x, positions = example.draw(2, SMALL, width, scale=example.scale), torch.tensor([[0, 2, 1], [3, 0, 4]])
    angles = positions[..., None] * 1e4 ** (-torch.arange(0, r, 2).double() / r)
    a, b, rest = x.double().split((r // 2, r // 2, width - r), -1)
    y = torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos(), rest], -1)
    options = {"theta": 1e4, "layout": "half", "rotary_dim": r if r < width else None}
    return (x, positions), options, lambda: iter([Reading((y,))])


EXAMPLES: Mapping[str, Callable[[Example], Parts]] = MappingProxyType(
    {
        "rms_norm": lambda example: _norm(example, adds=False),
        "add_rms_norm": lambda example: _norm(example, adds=True),
        "softmax": lambda example: _softmax(example, logarithm=False),
        "log_softmax": lambda example: _softmax(example, logarithm=True),
        **dict.fromkeys(("silu", "relu", "sigmoid"), _pointwise),
        "gelu": _gelu,
        "gated_activation": _gated,
        "attention_with_lse": _attention_with_lse,
        "variable_length_attention": _ragged_attention,
        "paged_attention": _paged_attention,
        "rope": _rope,
    }
)
