"""A KernelBench problem is taken for an operation if it computes the same, and is not judged if it computes anything else."""

from pathlib import Path
from types import ModuleType

import pytest

from spec_tests.importers import kernelbench
from spec_tests.importers._kernelbench_problem import import_problem

pytest.importorskip("torch")

PROBLEM = """
import torch
from torch import nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, *given):
        super().__init__()
        self.given = given
        {init}

    def forward(self, {arguments}):
        return {body}

def get_inputs():
    return [torch.rand({shape}) for _ in range({count})]

def get_init_inputs():
    return {given}
"""
EQUAL = {
    "relu": ("x.clamp(min=0)", "relu"),
    "sigmoid": ("(1 + torch.tanh(x / 2)) / 2", "sigmoid"),
    "silu": ("x / (1 + torch.exp(-x))", "silu"),
    "gelu": ("x / 2 * torch.special.erfc(-x / 2**0.5)", "gelu"),
    "gelu_with_tanh": ("x * torch.sigmoid(2 * 0.7978845608028654 * (x + 0.044715 * x**3))", "gelu"),
    "softmax": ("torch.exp(x) / torch.exp(x).sum(1, keepdim=True)", "softmax"),
    "layer_norm": ("(x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True, correction=0) + 1e-6).sqrt()", "layer_norm"),
    "l2": ("x / torch.norm(x, p=2, dim=1, keepdim=True)", "l2_norm"),
    "normalize": ("F.normalize(x, dim=1)", "l2_norm"),
}  # fmt: skip
STRANGERS = {
    "leaky_relu": ("torch.where(x < 0, 0.01 * x, x)", "its name suggests relu"),
    "relu6": ("x.clamp(0, 6)", "its name suggests relu"),
    "shifted_relu": ("x.clamp(min=0) + 1e-4", "its name suggests relu"),
    "quick_gelu": ("x * torch.sigmoid(1.702 * x)", "its name suggests gelu"),
    "hard_sigmoid": ("(x / 6 + 0.5).clamp(0, 1)", "its name suggests sigmoid"),
    "softplus": ("F.softplus(x)", "the nearest is relu"),
    "elu": ("F.elu(x)", "the nearest is silu"),
    "selu": ("F.selu(x)", "the nearest is silu"),
    "softmax_over_rows": ("torch.softmax(x, 0)", "its name suggests softmax"),
    "l1": ("x / x.abs().mean(1, keepdim=True)", "the nearest is layer_norm"),
    "unbiased_layer_norm": ("(x - x.mean(1, keepdim=True)) / x.var(1, keepdim=True).sqrt()", "its name suggests layer_norm"),
    "sums_from_the_end": ("x.sum(1, keepdim=True) - x.cumsum(1) + x", "the nearest is"),
    "square": ("x", "the nearest is"),
}  # fmt: skip


def make_problem(folder: Path, name: str, body: str, shape: str = "64, 96", init: str = "pass", given: str = "[]") -> ModuleType:
    path = folder / f"7_{name}.py"
    text = PROBLEM.format(body=body, shape=shape, init=init, given=given, arguments="x", count=1)
    path.write_text(text, encoding="utf-8")
    module = import_problem(path)
    module.__file__ = str(path)
    return module


def answer(module: ModuleType) -> tuple[dict[str, str], str]:
    """Return what the file is taken for, and why it is not taken."""
    found = kernelbench.take(module)
    assert found is not None
    return found.renamed_operations, found.absence_hints.get("KernelBench", "")


@pytest.mark.parametrize("name", EQUAL)
def test_a_problem_that_computes_the_same_is_the_operation(tmp_path: Path, name: str) -> None:
    body, operation = EQUAL[name]
    assert list(answer(make_problem(tmp_path, name, body))[0]) == [operation]


@pytest.mark.parametrize("name", STRANGERS)
def test_a_problem_that_computes_anything_else_is_not_judged(tmp_path: Path, name: str) -> None:
    body, why = STRANGERS[name]
    taken, hint = answer(make_problem(tmp_path, name, body))
    assert taken == {}
    assert hint.startswith(f"computes none of the operations: {why}")
    assert "it gives" in hint


def test_the_epsilon_is_that_of_the_model(tmp_path: Path) -> None:
    body = "x / (x.square().mean(1, keepdim=True) + self.eps).sqrt()"
    module = make_problem(tmp_path, "rms_norm", body, "8, 64, 96, 32", init="self.eps = 3e-4")
    found = kernelbench.take(module)
    assert found is not None
    assert found.domain["rms_norm"]["eps"] == (3e-4,)


EPSILONS = {
    "none": ("x / x.square().sum(1, keepdim=True).sqrt()", 0.0),
    "1e-12": ("x / (x.square().sum(1, keepdim=True) + 1e-12).sqrt()", 1e-12),
    "of normalize": ("F.normalize(x, dim=1)", 1e-12),
    "1e-8": ("x / (x.square().sum(1, keepdim=True) + 1e-8).sqrt()", 1e-8),
}  # fmt: skip


@pytest.mark.parametrize("name", EPSILONS)
def test_epsilons_that_are_near_one_another_are_told_apart(tmp_path: Path, name: str) -> None:
    body, eps = EPSILONS[name]
    found = kernelbench.take(make_problem(tmp_path, "l2", body))
    assert found is not None
    assert found.domain["l2_norm"]["eps"] == (eps,)


def test_a_mean_over_each_channel_is_no_layer_norm(tmp_path: Path) -> None:
    body = "(x - x.mean((2, 3), keepdim=True)) / (x.var((2, 3), keepdim=True, correction=0) + 1e-5).sqrt()"
    taken, hint = answer(make_problem(tmp_path, "instance", body, "8, 64, 96, 32"))
    assert (taken, hint.partition(",")[0]) == ({}, "computes none of the operations: the nearest is layer_norm")


def test_running_statistics_are_no_layer_norm(tmp_path: Path) -> None:
    init, given = "self.norm = nn.BatchNorm2d(given[0])", "[64]"
    taken, hint = answer(make_problem(tmp_path, "batch", "self.norm(x)", "8, 64, 96, 32", init=init, given=given))
    assert (taken, hint.partition(":")[0]) == ({}, "computes none of the operations")
