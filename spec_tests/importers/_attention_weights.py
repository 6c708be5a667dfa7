"""Which matrices of an attention module are the weights of its queries, keys, values and output.

Names and shapes say it. Calls choose where these leave something open: whether a square matrix is multiplied from the left or the
right, and in which order a fused matrix has its rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import Any

from ._imported import NotTaken, import_torch

FUSED = ("qkv", "c_attn", "qkv_proj", "Wqkv", "wqkv", "in_proj", "in_proj_weight", "to_qkv", "attn", "W_qkv", "w_qkv")
ROLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "w_q": ("q_proj", "w_q", "wq", "W_q", "query", "q", "Wq", "to_q", "q_proj_weight", "W_query", "W_Q", "WQ", "queries"),
        "w_k": ("k_proj", "w_k", "wk", "W_k", "Wk", "key", "k", "to_k", "k_proj_weight", "W_key", "W_K", "WK", "keys"),
        "w_v": ("v_proj", "w_v", "wv", "W_v", "Wv", "value", "v", "to_v", "v_proj_weight", "W_value", "W_V", "WV", "values"),
        "w_o": (
            "out_proj", "o_proj", "c_proj", "w_o", "wo", "W_o", "proj", "out", "output_proj", "to_out", "output", "dense", "W_O",
            "o", "Wo", "WO", "fc_out", "W_out", "w_out", "projection", "unifyheads",
            "fc", "fc_o", "linear_out", "out_linear",
        ),
    }
)  # fmt: skip
D, HEADS, TOKENS = 8, 2, 4  # of the small modules that are made to see their parameters
DIFFERENT = (
    1e-3  # of the largest entry: what rounding moves by is far less, what another order of the weights moves by is far more
)


@dataclass(frozen=True)
class Matrix:
    """A matrix of a module, and which of our weights it holds."""

    name: str  # with {} where it has the number of a head
    roles: tuple[str, ...]  # one after the other
    transposed: bool = False
    head_by_head: bool = False  # whether the rows of all roles of a head stand together
    open: bool = False  # whether only a call shows if it is transposed

    def fill(self, given: Mapping[str, Any], num_heads: int) -> Iterator[tuple[str, Any]]:
        """Yield the names and values of the module's parameters for our weights."""
        torch = import_torch()
        if self.head_by_head:
            rows = torch.cat([given[role].unflatten(0, (num_heads, -1)) for role in self.roles], 1).flatten(0, 1)
        else:
            rows = torch.cat([given[role] for role in self.roles])
        if "{}" not in self.name:
            yield self.name, rows.T if self.transposed else rows
            return
        for number, part in enumerate(rows.unflatten(0, (num_heads, -1))):
            yield self.name.format(number), part.T if self.transposed else part

    @property
    def words(self) -> str:
        what = " over ".join(self.roles) + ", head by head" * self.head_by_head
        return f"{self.name.replace('{}', 'i')} is {'the transpose of ' * self.transposed}{what}"


Attend = Callable[[Any, Mapping[str, Any]], Any]  # a module as a function of x and our weights


def find_matrices(module: Any, attend: Callable[[tuple[Matrix, ...]], Attend]) -> tuple[Matrix, ...]:
    """Return the matrices of a module of D features and HEADS heads.

    `attend` returns the function that the module is if these are its matrices. Where names and shapes leave something open, the
    first choice is taken that moves values as attention does, or the first one if none does: a wrong module is judged. Matrices
    that have only numbers are taken if the module computes attention with them in the order of w_q, w_k, w_v and w_o.
    """
    sizes = {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
    _check_others(sizes)
    named, numbered = tuple(_find_by_name(module, sizes)), tuple(_find_by_number(module, sizes))
    if _is_complete(named):
        choices = list(_list_choices(named))
        explained = (choice for choice in choices if len(choices) == 1 or _moves_values(attend(choice)))
        return next(explained, choices[0])
    for choice in _list_choices(numbered) if _is_complete(numbered) else ():
        if _is_attention(attend(choice)):
            return choice
    raise NotTaken(f"its matrices are {_describe(sizes)}")


def _check_others(sizes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise NotTaken if the module has a parameter that is neither a matrix nor a bias."""
    for name, shape in sizes.items():
        own = name.rpartition(".")[2].lower()
        if len(shape) != 2 and not (len(shape) == 1 and (own.startswith("b") or "bias" in own)):
            raise NotTaken(f"it has the parameter {name} {shape}, which is neither a matrix nor a bias")


def _is_complete(matrices: tuple[Matrix, ...]) -> bool:
    """Whether each of our weights is in one matrix, and each matrix has one of them."""
    return sorted(role for matrix in matrices for role in matrix.roles) == sorted(ROLES) and all(m.roles for m in matrices)


def _describe(sizes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in sizes.items() if len(shape) == 2) or "none"


def _find_by_name(module: Any, sizes: Mapping[str, tuple[int, ...]]) -> Iterator[Matrix]:
    """Yield the matrices whose names are known. One of a head counts once for all heads."""
    for name, shape in sizes.items():
        if len(shape) != 2:
            continue
        template, part = _find_head(name, shape)
        own, roles = _find_own_name(template), tuple[str, ...]()
        if own in FUSED and sorted(shape) == [D, 3 * D]:
            roles = ("w_q", "w_k", "w_v")
        elif sorted(shape) in ([D, D], [part, D]):
            roles = tuple(role for role, known in ROLES.items() if own in known)
        if template == name or ".0." in name:
            wide = shape[0] == D != shape[1]
            yield Matrix(template, roles, transposed=wide, open=shape == (D, D) and not _is_linear(module, name))


def _find_head(name: str, shape: tuple[int, ...]) -> tuple[str, int]:
    """Return the name with {} in place of the number of a head, and how many rows a head has, if the matrix is that of a head."""
    rows = D // HEADS
    if sorted(shape) == sorted((rows, D)) and (found := re.fullmatch(r"(.+\.)(\d+)(\..+)", name)):
        return f"{found[1]}{{}}{found[3]}", rows
    return name, D


def _find_own_name(name: str) -> str:
    """Return what the module calls a matrix: `query` of `attention.query.weight`, `to_out` of `to_out.0.weight`."""
    parts = [part for part in name.split(".") if not part.isdigit()]
    return next((part for part in reversed(parts) if part != "weight"), "")


def _find_by_number(module: Any, sizes: Mapping[str, tuple[int, ...]]) -> Iterator[Matrix]:
    """Yield the square matrices of a list of four as w_q, w_k, w_v and w_o, in this order."""
    square = [name for name, shape in sizes.items() if shape == (D, D)]
    if len(square) == len(ROLES) == sum(len(shape) == 2 for shape in sizes.values()):
        for name, role in zip(square, ROLES, strict=True):
            yield Matrix(name, (role,), open=not _is_linear(module, name))


def _is_linear(module: Any, name: str) -> bool:
    """Whether the matrix is that of torch.nn.Linear, or of MultiheadAttention, which multiplies as Linear does."""
    nn = import_torch().nn
    return isinstance(module.get_submodule(name.rpartition(".")[0]), nn.Linear | nn.MultiheadAttention)


def _list_choices(matrices: tuple[Matrix, ...]) -> Iterator[tuple[Matrix, ...]]:
    """Yield what the matrices may be: those that are open multiply alike, and a fused one may have its rows head by head."""
    turns = (False, True) if any(matrix.open for matrix in matrices) else (False,)
    orders = (False, True) if any(len(matrix.roles) > 1 for matrix in matrices) else (False,)
    for turned, head_by_head in product(turns, orders):
        yield tuple(_choose(matrix, turned, head_by_head) for matrix in matrices)


def _choose(matrix: Matrix, turned: bool, head_by_head: bool) -> Matrix:
    """Return the matrix as it is if the open ones are turned so, and a fused one has this order."""
    transposed = turned if matrix.open else matrix.transposed
    return replace(matrix, transposed=transposed, head_by_head=head_by_head and len(matrix.roles) > 1)


def draw_example() -> tuple[Any, dict[str, Any]]:
    """Return an x of one sequence, and weights of its size."""
    torch = import_torch()
    generator = torch.Generator().manual_seed(0)
    weights = {name: torch.randn(D, D, generator=generator) * D**-0.5 for name in ROLES}
    return torch.randn(1, TOKENS, D, generator=generator), weights


def _is_near(found: Any, right: Any) -> bool:
    return found.shape == right.shape and bool((found - right).abs().max() <= DIFFERENT * right.abs().max())


def _moves_values(attend: Attend) -> bool:
    """Whether tokens that are all equal become their value through w_o, as under every mask, scale and rotation."""
    x, weights = draw_example()
    x = x[:, :1].expand(-1, TOKENS, -1)
    with import_torch().no_grad():
        return _is_near(attend(x, weights), x @ weights["w_v"].T @ weights["w_o"].T)


def _is_attention(attend: Attend) -> bool:
    """Whether the answer is that of attention, causal or not, without a rotation."""
    torch = import_torch()
    x, weights = draw_example()
    q, k, v = ((x @ weights[role].T).unflatten(-1, (HEADS, -1)).transpose(1, 2) for role in ("w_q", "w_k", "w_v"))
    with torch.no_grad():
        found = attend(x, weights)
    outs = (torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal) for causal in (False, True))
    return any(_is_near(found, out.transpose(1, 2).flatten(2) @ weights["w_o"].T) for out in outs)
