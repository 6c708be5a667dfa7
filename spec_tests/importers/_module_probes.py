"""What a module's name and constructor leave open, and a call shows: the form of GELU, an epsilon, which parameter is the gain.

A call chooses between forms of one operation. Which operation a module is, its name says: a wrong module is judged, not declined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from ._imported import import_torch

PROBES = (-2.5, -1.5, -0.5, 0.75, 1.25, 2.5)  # where the two forms of GELU differ by up to 5e-4
FORMS = ("none", "tanh")
TINY = 1e-8  # a magnitude whose square is far below every epsilon that people write
NEAR = 0.25  # of a ratio: one plus the gain gives 3, the gain alone no number, and a gain that is ignored 1
DEFAULT_EPSILON = 1e-5
LARGER = 10  # a row that is so many times as large as the root of an epsilon
SAME = 1e-4  # of a factor: what rounding moves by is less
DIGITS = 3  # of an epsilon: more are rounding errors


def call_module(module: Any, state: dict[str, Any], *arguments: Any) -> Any:
    """Return the module's answer with these tensors as its parameters, in the mode in which it drops nothing out."""
    return import_torch().func.functional_call(module.eval().to(arguments[0].device), state, arguments)


def find_form_of_gelu(function: Callable[[Any], Any]) -> str:
    """Return the value of `approximate` whose form is nearer to the function's answers."""
    torch = import_torch()
    x = torch.tensor(PROBES, dtype=torch.float32)
    answer = function(x)
    gaps = [float((answer - torch.nn.functional.gelu(x, approximate=form)).abs().max()) for form in FORMS]
    return FORMS[gaps.index(min(gaps))]


def find_form_of_gate(function: Callable[[Any], Any], activations: Sequence[str]) -> dict[str, str]:
    """Return the options of `gated_activation` whose answer is nearest to the function's, for one packed row."""
    torch = import_torch()
    functional = torch.nn.functional
    known = {"silu": functional.silu, "gelu": functional.gelu, "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh")}
    row = torch.tensor([PROBES], dtype=torch.float32)
    answer = function(row)
    gaps: dict[tuple[str, str, str], float] = {}
    for activation, layout, gate in product(activations, ("concatenated", "interleaved"), ("first", "second")):
        halves = row.chunk(2, -1) if layout == "concatenated" else (row[:, ::2], row[:, 1::2])
        g, u = halves if gate == "first" else halves[::-1]
        gaps[activation, layout, gate] = float((answer - known[activation](g) * u).abs().max())
    nearest: tuple[str, str, str] = min(gaps.items(), key=lambda item: item[1])[0]
    return dict(zip(("activation", "layout", "gate"), nearest, strict=True))


def find_factor_of_embedding(module: Any, table: str) -> float:
    """Return the number by which a table's rows are multiplied, 1 if the answers are no multiple of them: the module is wrong."""
    torch = import_torch()
    rows = torch.arange(1.0, 1 + module.get_parameter(table).numel()).reshape(module.get_parameter(table).shape)
    ids = torch.arange(len(rows))[None]  # as a batch, since some modules take nothing else
    quotients = call_module(module, {table: rows}, ids)[0] / rows
    factor = float(quotients.mean())
    return factor if bool(((quotients - factor).abs() <= SAME * abs(factor)).all()) and abs(factor - 1) > SAME else 1.0


class NormProbe:
    """Calls of a small norm with chosen values of its parameters. What they hold at the start decides nothing."""

    def __init__(self, module: Any, names: Sequence[str]) -> None:
        self.module, self.names = module.double(), names
        self.width = len(next(iter(module.parameters())))

    def call(self, scale: float, /, **values: float) -> Any:
        """Return the answer for a row of alternating signs. All entries of a parameter have one value, 0 if it is not given."""
        torch = import_torch()
        row = scale * torch.tensor([(-1.0) ** i for i in range(self.width)], dtype=torch.float64)
        state = {name: torch.full((self.width,), values.get(name, 0.0), dtype=torch.float64) for name in self.names}
        return call_module(self.module, state, row[None])[0].double()

    def order_parameters(self) -> list[str]:
        """Return the names, that of the gain first: the answer changes with it in proportion to the row.

        If none is seen to be the gain, the module is wrong, and the order is that of the module.
        """
        return sorted(self.names, key=lambda name: not self._is_gain(name))

    def _is_gain(self, name: str) -> bool:
        """Whether a larger parameter moves entries of opposite signs apart."""
        change = self.call(1.0, **{name: 3.0}) - self.call(1.0, **{name: 1.0})
        return float(change[1] - change[0]) != 0.0

    def adds_one_to(self, gain: str) -> bool:
        """Whether a gain of 2 makes the row three times as large as a gain of 0 does."""
        without, with_two = (self.call(1.0, **{gain: value}) for value in (0.0, 2.0))
        return bool((without != 0).all()) and bool(((with_two / without - 3).abs() < NEAR).all())

    def find_epsilon(self, gain: str, one: float = 1.0) -> float:
        """Return the epsilon: y = a / sqrt(a² + ε) for a row of ±a. PyTorch's default if the answer shows none.

        Where it is added to the root, y = a / (a + ε), which a second row shows: the module is wrong, and judged at the epsilon
        that its author has written. `one` is the value of the gain that multiplies by 1.
        """
        small = self._find_divisor(TINY, gain, one)
        if not 0 < small < float("inf"):
            return DEFAULT_EPSILON
        inside, beside = max(small**2 - TINY**2, 0.0), max(small - TINY, 0.0)
        larger = LARGER * math.sqrt(inside)  # at which an epsilon inside the root still shows
        divisor = self._find_divisor(larger, gain, one)
        is_beside = abs(divisor - larger - beside) * inside < abs(divisor**2 - larger**2 - inside) * beside
        return float(f"{beside if is_beside else inside:.{DIGITS - 1}e}")

    def _find_divisor(self, scale: float, gain: str, one: float) -> float:
        """Return what a row of ±scale is divided by, 0 if the answer shows none."""
        size = float(self.call(scale, **{gain: one}).abs().max())
        return scale / size if 0 < size < float("inf") else 0.0
