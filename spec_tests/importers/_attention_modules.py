"""Modules of multi-head self-attention, made of a width and a number of heads or of a configuration that has both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ._attention_weights import DIFFERENT, HEADS, TOKENS, D, Matrix, draw_example, find_matrices
from ._configurations import (
    HEADS_NAMES,
    ROTATION_SWITCHES,
    THETA,
    THETA_NAMES,
    WIDTHS,
    find_config,
    find_variables,
    forward_with_variables,
    make_config,
    name_sizes,
    setting_variables,
)
from ._imported import NotTaken, find_name, import_torch, list_parameters, say_no_parameter

LAYOUTS = ("interleaved", "half")
THETAS = (10_000.0, 500_000.0, 100.0, 2.5)
Make = Callable[[int, int, int, "float | None"], Any]  # a module, of a width, a number of heads, a largest length and theta


def bind_attention(found: Any) -> tuple[Callable[..., Any], str, dict[str, Any]]:
    """Return the function of an attention module, the words on its weights, its mask and its rotation, and its domain."""
    make, words, names_of_sizes = _find_constructor(found)
    call = _find_call(found)
    module = make(D, HEADS, TOKENS, None)
    vectors = [name for name, parameter in module.named_parameters() if parameter.dim() == 1]

    def run(matrices: tuple[Matrix, ...], x: Any, given: Mapping[str, Any], num_heads: int, theta: float | None) -> Any:
        torch = import_torch()
        longest = 1 << (x.shape[-2] - 1).bit_length()
        module = make(x.shape[-1], num_heads, longest, theta).eval().to(x.device, x.dtype)
        state = {name: torch.zeros_like(p) for name, p in module.named_parameters() if p.dim() == 1}
        for matrix in matrices:
            state |= dict(matrix.fill(given, num_heads))
        return call(lambda *arguments: torch.func.functional_call(module, state, arguments), x)

    matrices = find_matrices(module, lambda choice: lambda x, given: run(choice, x, given, HEADS, None))
    _check_that_it_adds_nothing(lambda x, given: run(matrices, x, given, HEADS, None))

    def plain(x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, *, num_heads: int, is_causal: bool) -> Any:
        return run(matrices, x, {"w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": w_o}, num_heads, None)

    def rotated(
        x: Any, w_q: Any, w_k: Any, w_v: Any, w_o: Any, *, num_heads: int, is_causal: bool, theta: float | None, layout: str
    ) -> Any:
        return run(matrices, x, {"w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": w_o}, num_heads, theta)

    probe = RotationProbe(lambda x, weights, theta: run(matrices, x, weights, HEADS, theta))
    rotation, said = probe.describe(names_of_sizes)
    causal = _is_causal(lambda x: run(matrices, x, probe.weights, HEADS, None), probe.x)
    mask = "causal" if causal else "without a mask"
    zeros = f"; {', '.join(vectors)} {'are' if vectors[1:] else 'is'} 0" if vectors else ""
    domain = {"is_causal": (causal,), "d": "h d_k", "d_v": "d_k", "empty": False, "batch_dims": (1,), **rotation}
    roles = ", ".join(matrix.words for matrix in matrices)
    return rotated if rotation else plain, f"{words}, {mask}{said}: {roles}{zeros}", domain


def _find_constructor(found: Any) -> tuple[Make, str, tuple[str, ...]]:
    """Return what makes the module, the words on it, and the names of all that it can be given."""
    parameters = {p.name: p for p in list_parameters(found)}
    config, annotated = find_config(found)
    if config:
        shown = getattr(annotated, "__name__", config)
        taken = tuple(p.name for p in list_parameters(annotated)) if annotated else (*THETA_NAMES, *ROTATION_SWITCHES)
        return lambda *sizes: found(make_config(annotated, name_sizes(*sizes))), f"the class {found.__name__}({shown})", taken
    widths, heads_name = [name for name in parameters if name in WIDTHS], find_name(list(parameters), HEADS_NAMES)
    variables = () if widths else find_variables(found)
    if not (widths or variables) or not heads_name:
        missing = ("the width of a row", WIDTHS) if heads_name else ("the number of heads", HEADS_NAMES)
        raise NotTaken(say_no_parameter(list(parameters), *missing))
    required = [p.name for p in parameters.values() if p.default is p.empty and p.name not in name_sizes(1, 1, 1, None)]
    if required:
        raise NotTaken(f"its constructor also requires {', '.join(required)}")

    def make(d: int, heads: int, length: int, theta: float | None) -> Any:
        known = name_sizes(d, heads, length, theta) | {"batch_first": True}
        with setting_variables(found, {name: known[name] for name in variables}):
            module = found(**{name: known[name] for name in parameters if name in known})
        return forward_with_variables(module, {name: known[name] for name in variables}) if variables else module

    shown = f"the class {found.__name__}({', '.join((*widths, heads_name))})"
    with_variables = f" with the file's variables {', '.join(variables)}" if variables else ""
    return make, shown + with_variables, (*parameters, *variables)


def _find_call(found: Any) -> Callable[[Callable[..., Any], Any], Any]:
    """Return what calls the module on x: forward takes x, or x three times as queries, keys and values."""
    parameters = list_parameters(found.forward)[1:]
    required = [p.name for p in parameters if p.default is p.empty and p.kind.name.startswith("POSITIONAL")]
    without_mask = [name for name in required if "mask" not in name.lower()]
    initials = sorted(name.lower().removeprefix("x_")[0] for name in without_mask)
    if len(without_mask) != 1 and initials != ["k", "q", "v"]:
        raise NotTaken(f"forward({', '.join(required)}) is not one of x, nor one of queries, keys and values")

    def call(module: Callable[..., Any], x: Any) -> Any:
        answer = module(*(x if name in without_mask else None for name in required))
        return answer[0] if isinstance(answer, tuple) else answer

    return call


class RotationProbe:
    """Whether a module turns its queries and keys, and which features are a pair. Only the answers of small calls decide."""

    def __init__(self, attend: Callable[[Any, dict[str, Any], float | None], Any]) -> None:
        self.attend = attend
        self.x, self.weights = draw_example()

    def describe(self, names: tuple[str, ...]) -> tuple[dict[str, Any], str]:
        """Return the part of the domain that says how the module rotates, and the words on it. Nothing if it does not."""
        switch, theta = find_name(names, ROTATION_SWITCHES), find_name(names, THETA_NAMES)
        if not self._depends_on_order(THETA):
            return {}, ""
        can_be_off = bool(switch) and not self._depends_on_order(None)
        thetas = (*((None,) if can_be_off else ()), *(THETAS if theta else (THETA,)))
        gaps = self._find_gaps()
        layout = min(gaps, key=lambda layout: gaps[layout])
        if not switch and not theta and gaps[layout] > DIFFERENT:
            return {}, ""  # what mixes tokens is no rotation: the module is wrong, and judged without one
        said = f", with a rotation of its queries and keys (layout {layout}, as a call shows" + (f", {theta}" if theta else "")
        return {"theta": thetas, "layout": (layout,)}, said + (f"; none if not {switch})" if can_be_off else ")")

    def _answer(self, x: Any, theta: float | None) -> Any:
        with import_torch().no_grad():
            return self.attend(x, self.weights, theta)[0].double()

    def _depends_on_order(self, theta: float | None) -> bool:
        """Whether the last token's answer changes when two earlier tokens are exchanged, which a mask does not see."""
        exchanged = self.x[:, [1, 0, *range(2, TOKENS)]]
        before, after = self._answer(self.x, theta)[-1], self._answer(exchanged, theta)[-1]
        return bool((before - after).abs().max() > DIFFERENT * before.abs().max())

    def _find_gaps(self) -> dict[str, float]:
        """Return how far the last token's answer is from that of a rotation, by its layout."""
        answer = self._answer(self.x, THETA)[-1]
        return {layout: float((self._expect(layout) - answer).abs().max() / answer.abs().max()) for layout in LAYOUTS}

    def _expect(self, layout: str) -> Any:
        """Return the last token's answer of attention with a rotation in this layout. The last token sees all."""
        torch, width = import_torch(), D // HEADS
        heads = {
            name: (self.x[0] @ w.T).double().unflatten(-1, (HEADS, width)) for name, w in self.weights.items() if name != "w_o"
        }
        angles = torch.arange(TOKENS)[:, None, None] * THETA ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        turn = torch.polar(torch.ones_like(angles), angles)

        def rotate(y: Any) -> Any:
            pairs = y.unflatten(-1, (2, -1)).transpose(-1, -2) if layout == "half" else y.unflatten(-1, (-1, 2))
            turned = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * turn)
            return (turned.transpose(-1, -2) if layout == "half" else turned).flatten(-2)

        q, k = rotate(heads["w_q"]), rotate(heads["w_k"])
        shares = (torch.einsum("hd,mhd->hm", q[-1], k) * width**-0.5).softmax(-1)
        return torch.einsum("hm,mhd->hd", shares, heads["w_v"]).flatten() @ self.weights["w_o"].double().T


def _check_that_it_adds_nothing(attend: Callable[[Any, dict[str, Any]], Any]) -> None:
    """Raise NotTaken if the module adds its input to the result, which is then x where w_o is 0."""
    torch = import_torch()
    x, weights = draw_example()
    with torch.no_grad():
        answer = attend(x, {**weights, "w_o": torch.zeros_like(weights["w_o"])})
    if torch.equal(answer, x):
        raise NotTaken("it adds its input to the result, as a call shows")


def _is_causal(attend: Callable[[Any], Any], x: Any) -> bool:
    """Whether the first token's answer stays when the last token changes."""
    changed = x.clone()
    changed[:, -1] += 1
    with import_torch().no_grad():
        return bool(import_torch().equal(attend(x)[:, 0], attend(changed)[:, 0]))


CLASSES: Mapping[str, tuple[tuple[str, ...], Any]] = MappingProxyType(
    {
        "multihead_self_attention": (
            (
                "MultiheadAttention",
                "MultiHeadSelfAttention",
                "CausalSelfAttention",
                "CasualSelfAttention",  # as it is often misspelt
                "CausalAttention",
                "SelfAttention",
                "Attention",
                "CausalMultiHeadSelfAttention",
                "CausalMultiHeadAttention",
                "MHA",
                "MultiHeadedAttention",
                "MultiHead",
            ),
            bind_attention,
        )
    }
)
