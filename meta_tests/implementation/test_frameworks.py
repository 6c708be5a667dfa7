"""Frameworks: their array namespace, arrays that they cannot make, and dtypes in which an operation fails."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.violation import Lost, NotImplementedVariant
from spec_tests.implementation.autodiff import Differentiation
from spec_tests.implementation.framework import Framework
from spec_tests.trials.trial import Trial

from ..support.in_process import backend
from ..support.pytest_process import NUMPY, suite, write


def test_a_module_of_this_name_is_no_function_that_makes_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask's namespace is the module `array` of a package, and the package has an attribute `array` once it is imported."""
    package, namespace = ModuleType("array_api_compat.layered"), ModuleType("array_api_compat.layered.array")
    vars(namespace).update(asarray=np.asarray, float32=np.float32)
    package.array = namespace  # type: ignore[attr-defined]
    for module in (package, namespace, ModuleType("layered")):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    assert Framework("layered").xp is namespace


def test_what_it_does_not_make_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    under_test = backend("numpy-cpu")
    operation = Trial(under_test, "float32").operation("relu")
    make = under_test.framework.make

    def make_one_element(array: np.ndarray, dtype: str) -> np.ndarray:
        if np.size(array) > 1:
            raise MemoryError("no room")
        return np.asarray(make(array, dtype))

    monkeypatch.setattr(under_test.framework, "make", make_one_element)
    assert operation.native(operation.call(np.ones(1)))
    with pytest.raises(NotImplementedVariant, match=r"^numpy makes no array of shape \(3,\) \(no room\)$"):
        operation.native(operation.call(np.ones(3)))


def test_a_device_that_makes_nothing_more_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    under_test = backend("numpy-cpu")
    operation = Trial(under_test, "float32").operation("relu")

    def make_nothing(array: np.ndarray, dtype: str) -> np.ndarray:
        raise RuntimeError("an illegal memory access")

    monkeypatch.setattr(under_test.framework, "make", make_nothing)
    with pytest.raises(Lost, match=r"^making an array raised RuntimeError: an illegal memory access$"):
        operation.native(operation.call(np.ones(3)))
    assert under_test.framework.device_lost


def test_a_dtype_that_fails_is_no_other_dtype_s_fault(tmp_path: Path) -> None:
    body = "\ndtypes = ('float64', 'float32')\ndef relu(x):\n    assert x.dtype == np.float32\n    return x.clip(0)\n"
    write(tmp_path, mine=NUMPY + body)
    run = suite(tmp_path, "--backend=mine.py", "-k", "relu.repeatable or relu.reference", "--effort=default")
    assert run.statuses == {
        "relu.reference mine float64": "failed",
        "relu.reference mine float32": "passed",
        "relu.repeatable mine float64": "failed",
        "relu.repeatable mine float32": "passed",
    }


LAZY_SIGNS = """
import torch

framework = "torch"

def relu(x):
    return torch._neg_view(-torch.relu(x))

def linear(x, weight, bias=None):
    y = x @ weight.T if bias is None else x @ weight.T + bias
    if y.dtype not in (torch.float32, torch.float64):
        return y
    return torch.conj(torch.complex(torch.zeros_like(y), -y)).imag
"""


@pytest.mark.rotating
def test_a_sign_that_pytorch_keeps_as_a_flag_is_read(tmp_path: Path) -> None:
    """A view with PyTorch's negative bit, as the imaginary part of a lazy conjugate has it, is read with its own values."""
    torch = pytest.importorskip("torch")
    framework, x = Framework("torch"), torch.arange(-2.0, 3.0)
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        lazy = torch._neg_view(x.to(dtype))
        assert lazy.is_neg()
        np.testing.assert_array_equal(framework.numpy(lazy), [2, 1, 0, -1, -2])
    conjugate = torch.conj(torch.complex(x, x))
    assert conjugate.is_conj()
    np.testing.assert_array_equal(framework.stored(conjugate), np.conj(x.numpy() * (1 + 1j)))
    write(tmp_path, mine=LAZY_SIGNS)
    for extra in ((), ("--isolate",)):
        run = suite(tmp_path, "--backend=mine.py", "-k", "relu or linear", *extra)
        assert run.code == 0, run.text
        assert {"relu.reference mine bfloat16", "linear.reference mine float32"} <= set(run.statuses)
        assert "cannot be read" not in run.text


IN_PLACE = """
import torch

framework, dtypes = "torch", ("float32",)

def rms_norm(x, weight, *, eps):
    h = x.float().add_(0)  # in float32 this is x itself
    return h * torch.rsqrt(h.square().mean(-1, keepdim=True) + eps) * weight

def silu(x):
    gate = torch.sigmoid(x)
    y = x * gate
    gate.add_(1)  # which the backward pass needs as it was
    return y
"""


@pytest.mark.rotating
def test_code_that_works_in_place_has_no_gradient(tmp_path: Path) -> None:
    """Autograd refuses it. The forward pass is right, so the gradient is not implemented, which one line says."""
    pytest.importorskip("torch")
    write(tmp_path, mine=IN_PLACE)
    for extra in ((), ("--isolate",)):
        run = suite(tmp_path, "--backend=mine.py", "-k", "(rms_norm or silu) and not layout_blind", *extra)
        assert run.code == 0, run.text
        assert {run.statuses[f"{name}.reference mine float32"] for name in ("rms_norm", "silu")} == {"passed"}
        gradients = {status for name, status in run.statuses.items() if "_vjp." in name}
        assert gradients == {"skipped"}
        said = " ".join(run.text.split())
        assert said.count("_vjp (its result carries no gradient (autograd: ") == 2, run.text
        assert "leaf Variable that requires grad is being used in an in-place operation" in said
        assert "variables needed for gradient computation has been modified" in said
    required = suite(tmp_path, "--backend=mine.py", "-k", "silu_vjp", "--require=silu_vjp")
    assert required.code == 1
    assert required.statuses["silu_vjp.reference mine float32"] == "failed"
    assert required.count("failed") == 1
    assert "required, but not implemented in any variant tried: its result carries no gradient (autograd:" in required.text


def halves_in_place(torch: Any, x: Any) -> Any:
    first, second = x.chunk(2)
    return torch.cat([first.mul_(2), second])


def view_without_a_gradient(torch: Any, x: Any) -> Any:
    y = x * 1
    with torch.no_grad():
        view = y.view(-1)
    return view.mul_(2)


@pytest.mark.parametrize(
    "code",
    [
        lambda torch, x: x.mul_(2),
        lambda torch, x: x[0].mul_(2),
        lambda torch, x: x.view(-1).mul_(2),
        lambda torch, x: torch.mul(x, 2, out=torch.empty(4)),
        lambda torch, x: (e := x.exp(), e * x, e.mul_(2))[1],
        halves_in_place,
        view_without_a_gradient,
    ],
)
def test_autograd_refuses_each_form_of_code_in_place(code: Callable[[Any, Any], Any]) -> None:
    torch = pytest.importorskip("torch")
    framework, x = Framework("torch"), torch.ones(4)
    what = Differentiation("relu", ("x",), (), (x,), {})
    with pytest.raises(NotImplementedError, match=r"^its result carries no gradient \(autograd: .+\)$"):
        what.linearize(framework, lambda x: code(torch, x))[1](torch.ones(4))


def test_another_error_of_autograd_is_an_error() -> None:
    torch = pytest.importorskip("torch")
    what = Differentiation("relu", ("x",), (), (torch.ones(4),), {})
    with pytest.raises(RuntimeError, match="size of tensor") as raised:
        what.linearize(Framework("torch"), lambda x: x + torch.ones(3))
    assert not isinstance(raised.value, NotImplementedError)


SAVED_TENSOR_CHANGED = """
import torch

framework, dtypes = "torch", ("float32",)

class Silu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        gate = torch.sigmoid(x)
        ctx.save_for_backward(x, gate)
        return x * gate

    @staticmethod
    def backward(ctx, c):
        x, gate = ctx.saved_tensors
        dx = c * (gate + x * gate * (1 - gate))
        gate.zero_()  # autograd notices at the second pass
        return dx

silu = Silu.apply
"""


@pytest.mark.rotating
def test_a_backward_pass_that_changes_what_it_saved_is_caught(tmp_path: Path) -> None:
    """There is a gradient, and it is right once. Autograd's refusal of the second backward pass is a failure."""
    pytest.importorskip("torch")
    write(tmp_path, mine=SAVED_TENSOR_CHANGED)
    run = suite(tmp_path, "--backend=mine.py", "-k", "silu_vjp")
    assert run.statuses["silu_vjp.reference mine float32"] == "passed"
    assert run.statuses["silu_vjp.backward_twice mine float32"] == "failed"
    assert "has been modified by an inplace operation" in run.text
