"""Attention modules in the forms that people write: their matrices are found, and what a right one computes is attention."""

import re
import types
from collections.abc import Callable
from typing import Any

import pytest

from spec_tests.importers._attention_modules import bind_attention
from spec_tests.importers._attention_weights import DIFFERENT
from spec_tests.importers._imported import NotTaken
from spec_tests.importers.nn_modules import BINDERS
from spec_tests.importers.nn_modules import _normalize as normalize

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional
WIDTH, HEADS, TOKENS = 12, 3, 5
n_embd, block_size, dropout = 64, 8, 0.2  # variables of the file, as those of a lecture


def attend(*heads: Any, causal: bool) -> Any:
    """Return attention of queries, keys and values, with the heads joined."""
    q, k, v = heads
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).flatten(2)


class OfWidth(nn.Module):  # type: ignore[misc, name-defined]
    """A module with a number of heads. `split` cuts the features into these."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads

    def split(self, x: Any) -> Any:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


class FromTheLeft(OfWidth):
    """Parameters of which x is multiplied with from the left."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__(d_model, num_heads)
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.Parameter(torch.randn(d_model, d_model)))

    def forward(self, x: Any) -> Any:
        return attend(*(self.split(x @ w) for w in (self.W_q, self.W_k, self.W_v)), causal=False) @ self.W_o


class FusedHeadByHead(OfWidth):
    """One projection, whose rows are queries, keys and values of head 0, then those of head 1."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__(embed_dim, num_heads)
        self.qkv_proj, self.o_proj = nn.Linear(embed_dim, 3 * embed_dim), nn.Linear(embed_dim, embed_dim)

    def forward(self, x: Any, mask: Any = None) -> Any:
        q, k, v = self.split(self.qkv_proj(x)).chunk(3, dim=-1)
        return self.o_proj(attend(q, k, v, causal=False))


class FusedFromTheLeft(OfWidth):
    """A fused projection of which x is multiplied with from the left, as GPT-2 has it."""

    def __init__(self, n_embd: int, n_head: int) -> None:
        super().__init__(n_embd, n_head)
        self.c_attn, self.c_proj = (nn.Parameter(torch.randn(n_embd, width)) for width in (3 * n_embd, n_embd))

    def forward(self, x: Any) -> Any:
        return attend(*map(self.split, (x @ self.c_attn).chunk(3, -1)), causal=True) @ self.c_proj


class InAList(OfWidth):
    """Four projections that have only numbers."""

    def __init__(self, h: int, d_model: int, dropout: float = 0.1) -> None:
        super().__init__(d_model, h)
        self.linears, self.dropout = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4)), nn.Dropout(dropout)

    def forward(self, query: Any, key: Any, value: Any, mask: Any = None) -> Any:
        projected = (linear(x) for linear, x in zip(self.linears, (query, key, value), strict=False))
        return self.linears[-1](attend(*map(self.split, projected), causal=False))


class Head(nn.Module):  # type: ignore[misc, name-defined]
    """One head, whose width is a variable of the file."""

    def __init__(self, head_size: int) -> None:
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(n_embd, head_size, bias=False) for _ in range(3))
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x: Any) -> Any:
        shares = self.query(x) @ self.key(x).mT * self.key.out_features**-0.5
        hidden = self.tril[: x.shape[1], : x.shape[1]] == 0
        return shares.masked_fill(hidden, float("-inf")).softmax(-1) @ self.value(x)


class OfHeads(nn.Module):  # type: ignore[misc, name-defined]
    """A module of each head, and a projection."""

    def __init__(self, num_heads: int, head_size: int) -> None:
        super().__init__()
        self.heads = nn.ModuleList(Head(head_size) for _ in range(num_heads))
        self.proj, self.dropout = nn.Linear(head_size * num_heads, n_embd), nn.Dropout(dropout)

    def forward(self, x: Any) -> Any:
        assert x.shape[-1] == n_embd
        return self.dropout(self.proj(torch.cat([head(x) for head in self.heads], -1)))


FORMS: dict[type, str] = {
    FromTheLeft: "W_q is the transpose of w_q",
    FusedHeadByHead: "qkv_proj.weight is w_q over w_k over w_v, head by head",
    FusedFromTheLeft: "c_attn is the transpose of w_q over w_k over w_v, c_proj is the transpose of w_o",
    InAList: "linears.0.weight is w_q, linears.1.weight is w_k, linears.2.weight is w_v, linears.3.weight is w_o",
    OfHeads: "with the file's variables n_embd, block_size, dropout, causal: heads.i.key.weight is w_k",
}


def compare(found: type) -> tuple[Any, Any, str]:
    """Return what the module computes of random arrays, what attention is, and the words on it."""
    function, words, domain = bind_attention(found)
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(2, TOKENS, WIDTH, generator=generator)
    weights = {name: torch.randn(WIDTH, WIDTH, generator=generator) for name in ("w_q", "w_k", "w_v", "w_o")}
    (causal,) = domain["is_causal"]
    heads = ((x @ weights[name].T).unflatten(-1, (HEADS, -1)).transpose(1, 2) for name in ("w_q", "w_k", "w_v"))
    return function(x, **weights, num_heads=HEADS, is_causal=causal), attend(*heads, causal=causal) @ weights["w_o"].T, words


@pytest.mark.parametrize("found", FORMS)
def test_a_right_module_in_this_form_is_attention(found: type) -> None:
    answer, right, words = compare(found)
    assert FORMS[found] in words
    torch.testing.assert_close(answer, right)
    assert n_embd == 64, "the file's variables are as they were"


def test_a_wrong_module_is_judged_as_its_names_say() -> None:
    class Wrong(FromTheLeft):
        """The values are not projected."""

        def forward(self, x: Any) -> Any:
            return attend(self.split(x @ self.W_q), self.split(x @ self.W_k), self.split(x), causal=False) @ self.W_o

    answer, right, words = compare(Wrong)
    assert "W_q is w_q" in words
    assert (answer - right).abs().max() > DIFFERENT


def with_list(out: int) -> type:
    class Other(InAList):
        def forward(self, query: Any, key: Any, value: Any, mask: Any = None) -> Any:
            projected = [linear(x) for linear, x in zip(self.linears, (query, key, value), strict=False)]
            return self.linears[out](attend(*map(self.split, projected), causal=False))

    return Other


def with_parameter(name: str, make: Callable[[int], Any]) -> type:
    class Other(FusedHeadByHead):
        def __init__(self, embed_dim: int, num_heads: int) -> None:
            super().__init__(embed_dim, num_heads)
            setattr(self, name, make(embed_dim))

    return Other


def with_its_input() -> type:
    class Other(FusedHeadByHead):
        def forward(self, x: Any, mask: Any = None) -> Any:
            return x + super().forward(x)

    return Other


DECLINED: dict[type, str] = {
    with_list(out=0): "its matrices are linears.0.weight (8, 8)",
    with_parameter("norm", nn.LayerNorm): "it has the parameter norm.weight (8,), which is neither a matrix nor a bias",
    with_its_input(): "it adds its input to the result, as a call shows",
    with_parameter("position", lambda d: nn.Embedding(4, d)): "o_proj.weight (8, 8), position.weight (4, 8)",
}


@pytest.mark.parametrize("found", DECLINED)
def test_what_only_a_guess_could_say_is_not_taken(found: type) -> None:
    with pytest.raises(NotTaken, match=re.escape(DECLINED[found])):
        bind_attention(found)


def test_a_width_is_needed() -> None:
    alone = types.ModuleType("alone")
    exec("import torch\nclass A(torch.nn.Module):\n    def __init__(self, num_heads, head_size): ...", vars(alone))
    said = "its constructor (num_heads, head_size) has no parameter with a known name of the width of a row"
    with pytest.raises(NotTaken, match=re.escape(said)):
        bind_attention(alone.A)


def test_a_block_of_attention_is_attention() -> None:
    """FeedForwardBlock and MultiHeadAttentionBlock are the classes of a tutorial that many have copied."""
    names = ("MultiHeadAttentionBlock", "FeedForwardBlock", "TransformerBlock")
    assert [bool(BINDERS.get(normalize(name))) for name in names] == [True, True, False]
