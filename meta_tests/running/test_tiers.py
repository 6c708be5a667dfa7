"""The tiers of a contract: what is required of whom, and that a failure of the surroundings is one cause."""

from pathlib import Path

import pytest

from spec_tests.specification.tiers import TIERS, list_required

from ..support.pytest_process import suite, write

pytest.importorskip("torch")
TABLE = """
import torch
from torch import nn


class Table(nn.Module):
    def __init__(self, *shape):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(shape))


def run_linear(d_in, d_out, weights, in_features):
    layer = Table(d_out, d_in)
    layer.load_state_dict({"weight": weights})
    return in_features @ layer.weight.T


def run_embedding(vocab_size, d_model, weights, token_ids):
    layer = Table(vocab_size, d_model)
    layer.load_state_dict({"weight": weights})
    return layer.weight[token_ids]
"""  # right in float32, and not where the default dtype is another
ONES = """
import torch

framework, dtypes = "torch", ("float32",)


def relu(x):
    return torch.maximum(x, torch.zeros(x.shape))


def sigmoid(x):
    return torch.sigmoid(x) * torch.ones(x.shape)


def silu(x):
    return x / (1 + torch.exp(x))
"""  # two that depend on the default dtype, and one that is wrong


def run(folder: Path, *more: str) -> tuple[int, str]:
    found = suite(folder, "--hypothesis-seed=1", "--effort=default", "-k", "states or reference", *more)
    return found.code, " ".join(found.text.partition(" verdict ==")[2].split())


@pytest.mark.rotating
def test_a_course_is_not_held_to_another_default_dtype(tmp_path: Path) -> None:
    write(tmp_path, adapters=TABLE)
    code, verdict = run(tmp_path, "--backend=adapters.py")
    assert code == 0
    assert "adapters: nothing wrong found" in verdict
    told = "reported and not required (--require-tier=surroundings requires it): embedding, linear, linear_vjp; at first "
    assert told in verdict


@pytest.mark.rotating
def test_the_author_may_ask_for_more(tmp_path: Path) -> None:
    write(tmp_path, adapters=TABLE)
    code, verdict = run(tmp_path, "--backend=adapters.py", "--require-tier=surroundings")
    assert code == 1
    assert "adapters: 1 cause of failures in 3 operations" in verdict
    assert "1. surroundings: embedding (3 failed tests, also of linear, linear_vjp): the result is float64" in verdict


@pytest.mark.rotating
def test_surroundings_are_one_cause_after_the_numeric_ones(tmp_path: Path) -> None:
    write(tmp_path, mine=ONES)
    code, verdict = run(tmp_path, "--backend=mine.py")
    assert code == 1
    assert "mine: 2 causes of failures in 4 operations" in verdict
    assert "1. silu (" in verdict
    assert "2. surroundings: relu (2 failed tests, also of sigmoid): the result is float64" in verdict


def test_a_tier_demands_those_before_it() -> None:
    equation, calls, surroundings = TIERS
    assert list_required((), ()) == (equation,)
    assert list_required((equation,), (surroundings,)) == (equation, calls, surroundings)
    assert list_required((calls,), ()) == (equation, calls)
    assert list_required(tuple(TIERS), ()) == tuple(TIERS)


def test_an_unknown_tier_is_answered_with_those_that_there_are(tmp_path: Path) -> None:
    write(tmp_path, mine=ONES)
    found = suite(tmp_path, "--backend=mine.py", "--require-tier=equations")
    assert found.code == 4
    assert "calls" in found.text
    assert "surroundings" in found.text
