"""The value of each convention that PyTorch's own functions have is the one that is stated."""

from __future__ import annotations

from typing import Any

import pytest

from spec_tests.specification.conventions import CONVENTIONS

torch: Any = pytest.importorskip("torch")


def step(*, eps: float, weight_decay: float) -> float:
    """Return a parameter of 1 after one step of AdamW at rate 1/2 with a gradient of 1."""
    parameter = torch.nn.Parameter(torch.ones((), dtype=torch.float64))
    parameter.grad = torch.ones((), dtype=torch.float64)
    torch.optim.AdamW([parameter], lr=0.5, eps=eps, weight_decay=weight_decay).step()
    return float(parameter.detach())


def find_decay() -> str:
    """The update is 1/2 and the decay 1/2: before it 1/2 · 1 − 1/2, after it 1/2 · (1 − 1/2)."""
    return {0.0: "before", 0.25: "after"}[round(step(eps=0.0, weight_decay=1.0), 6)]


def find_epsilon() -> str:
    """The corrected root is 1, the uncorrected one √0.001."""
    return {round(1 - 0.5 / 2, 6): "corrected", round(1 - 0.5 / (1 + 0.001**-0.5), 6): "uncorrected"}[
        round(step(eps=1.0, weight_decay=0.0), 6)
    ]


def find_empty_mean() -> str:
    loss = torch.nn.functional.cross_entropy(torch.zeros(1, 2), torch.tensor([-100]))
    return "nan" if loss.isnan() else str(float(loss))


def attend(n: int, m: int, **options: Any) -> Any:
    v = torch.eye(m)[None]
    return torch.nn.functional.scaled_dot_product_attention(torch.zeros(1, n, 1), torch.zeros(1, m, 1), v, **options)[0]


def find_alignment() -> str:
    return {1: "top-left", 2: "bottom-right"}[int((attend(1, 2, is_causal=True)[0] > 0).sum())]


def find_blind_queries() -> str:
    y = attend(1, 2, attn_mask=torch.zeros(1, 2, dtype=torch.bool))
    return "nan" if y.isnan().any() else "zero" if not y.any() else "mean"


def find_base() -> str:
    return "e" if float(torch.logsumexp(torch.zeros(2), 0)) < 0.7 else "2"


@pytest.mark.parametrize(
    ("name", "find"),
    [
        ("adamw_decay", find_decay),
        ("adamw_epsilon", find_epsilon),
        ("all_ignored", find_empty_mean),
        ("causal_alignment", find_alignment),
        ("fully_masked_rows", find_blind_queries),
        ("lse_base", find_base),
    ],
)
def test_a_convention_names_the_value_of_pytorch(name: str, find: Any) -> None:
    assert CONVENTIONS[name].in_pytorch == find()
    assert CONVENTIONS[name].in_pytorch in CONVENTIONS[name].values


def test_the_others_have_none_in_pytorch() -> None:
    named = {name for name, convention in CONVENTIONS.items() if convention.in_pytorch}
    assert named == {"adamw_decay", "adamw_epsilon", "all_ignored", "causal_alignment", "fully_masked_rows", "lse_base"}
