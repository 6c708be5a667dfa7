"""The convention muon_compute: stated, inferred and contradicted, with results in bfloat16 whatever the arguments are."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.near_misses import find_other_convention
from spec_tests.implementation.backend import Backend, build_backend
from spec_tests.specification.registry import operations, specification

from ..backends.correct.orthogonalizations import InBfloat16, RowsAlways
from ..support.answered import answers
from ..support.in_process import caught_by
from ..support.pytest_process import suite, write

ARGUMENT, NARROW = {"muon_compute": "argument"}, {"muon_compute": "bfloat16"}


def build(source: Any, *names: str, dtypes: tuple[str, ...] = ("float32",), **stated: Any) -> Backend:
    functions = {name: getattr(source, name) for name in names or ("newton_schulz",)}
    return build_backend(
        SimpleNamespace(framework="torch", device="cpu", dtypes=dtypes, **functions, **stated), set(operations())
    )


class CastBack(InBfloat16):
    def newton_schulz(self, x: Any, **options: Any) -> Any:
        return super().newton_schulz(x, **options).to(x.dtype)


@pytest.mark.parametrize(("source", "value"), [(InBfloat16, "bfloat16"), (RowsAlways, "argument")])
def test_what_is_not_stated_is_found_and_passes(source: Any, value: str) -> None:
    under_test = build(source(), dtypes=("float32", "bfloat16"))
    assert caught_by(under_test, seed=1, only="newton_schulz.reference") == {}
    assert under_test.inferred_conventions["newton_schulz", "muon_compute"] == (value,)


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("dtype", ["float64", "float16"])
@pytest.mark.parametrize("name", ["newton_schulz", "muon_step"])
def test_bfloat16_passes_beside_other_dtypes(name: str, dtype: str) -> None:
    under_test = build(InBfloat16(), name, dtypes=(dtype,), conventions=NARROW)
    assert caught_by(under_test, seed=1, only=f"{name}.reference") == {}


@pytest.mark.parametrize(("source", "stated"), [(InBfloat16, ARGUMENT), (RowsAlways, NARROW)])
def test_the_stated_value_is_demanded(source: Any, stated: dict[str, str]) -> None:
    under_test = build(source(), conventions=stated)
    broken = {**caught_by(under_test, 1, "newton_schulz.dtype"), **caught_by(under_test, 1, "newton_schulz.muon_compute")}
    assert "newton_schulz.dtype_shape_device" in broken
    (value,), (other,) = stated.values(), {"argument", "bfloat16"} - set(stated.values())
    found = broken["newton_schulz.muon_compute"].what
    assert found == f"muon_compute is {other} here, where the backend states {value}"


def test_a_step_in_bfloat16_is_caught_where_the_backend_states_otherwise() -> None:
    broken = caught_by(build(InBfloat16(), "muon_step", conventions=ARGUMENT), seed=1, only="muon_step.muon_compute")
    assert "where the backend states argument" in broken["muon_step.muon_compute"].what


def test_a_result_in_another_dtype_is_caught() -> None:
    broken = caught_by(build(CastBack(), conventions=NARROW), seed=1, only="newton_schulz.dtype_shape_device")
    assert "float32" in broken["newton_schulz.dtype_shape_device"].what
    unstated = caught_by(build(CastBack()), seed=1, only="newton_schulz.reference")
    assert unstated.keys() == {"newton_schulz.reference"}


def test_a_wrong_coefficient_is_caught() -> None:
    """A wrong coefficient, far outside the bound of bfloat16, is caught under either value."""

    class Wrong(InBfloat16):
        def newton_schulz(self, x: Any, *, coefficients: Any = (3.4445, -4.775, 2.0315), **options: Any) -> Any:
            a, b, c = coefficients
            return super().newton_schulz(x, coefficients=(a, b, 0.75 * c), **options)

    for stated in ({}, NARROW):
        assert "newton_schulz.reference" in caught_by(build(Wrong(), conventions=stated), seed=1, only="newton_schulz.reference")


def test_float64_is_judged_beside_a_part_in_bfloat16() -> None:
    """The buffer of a step, which bfloat16 does not touch, is still held to the bound of float64."""

    class Narrowed(InBfloat16):
        def muon_step(self, parameter: Any, gradient: Any, momentum_buffer: Any, **settings: Any) -> Any:
            after, buffer = super().muon_step(parameter, gradient, momentum_buffer, **settings)
            return after, buffer.float().double()

    under_test = build(Narrowed(), "muon_step", dtypes=("float64",), conventions=NARROW)
    assert "muon_step.momentum" in caught_by(under_test, seed=1, only="muon_step.momentum")


MINE = """
import torch

framework, device = "torch", "cpu"

def newton_schulz(x, *, steps=5, coefficients=(3.4445, -4.775, 2.0315), eps=1e-7):
    a, b, c = coefficients
    y = x.bfloat16().mT if x.shape[-2] > x.shape[-1] else x.bfloat16()
    y = y / (y.norm(dim=(-2, -1), keepdim=True) + eps)
    for _ in range(steps):
        gram = y @ y.mT
        y = a * y + (b * gram + FIFTH * gram @ gram) @ y
    return y.mT if x.shape[-2] > x.shape[-1] else y
"""


@pytest.mark.rotating(one_in=4)
@pytest.mark.parametrize("options", [(), ("--isolate",)], ids=["here", "isolated"])
def test_a_run_says_what_it_found(tmp_path: Path, options: tuple[str, ...]) -> None:
    write(tmp_path, mine=MINE.replace("FIFTH", "c"))
    run = suite(tmp_path, "--backend=mine.py", "--dtype=float32", "-k", "newton_schulz.reference or newton_schulz.muon", *options)
    assert run.code == 0, run.text
    assert '"muon_compute": "bfloat16"' in run.text


@pytest.mark.rotating(one_in=4)
@pytest.mark.slow
def test_a_deviation_has_its_name_in_bfloat16(tmp_path: Path) -> None:
    write(tmp_path, mine=MINE.replace("FIFTH", "0") + '\nconventions = {"muon_compute": "bfloat16"}\n')
    run = suite(tmp_path, "--backend=mine.py", "--dtype=float32", "-k", "newton_schulz.reference", "--isolate")
    assert "newton_schulz/cubic-alone" in run.message()


def test_torch_states_what_it_does() -> None:
    assert torch.optim.Muon
    under_test = build_backend(__import__("backends.torch_fused", fromlist=["muon_step"]), set(operations()))
    assert under_test.convention("muon_compute", "muon_step") == "bfloat16"


def test_one_norm_for_all_matrices_is_not_called_another_arithmetic() -> None:
    """The bound of five steps in bfloat16 is infinite, so that it admits whatever is wrong."""

    def newton_schulz(x: Any, **options: Any) -> Any:
        return np.sqrt(1 / np.prod(x.shape[:-2])) * orthogonalize(x, **options)

    orthogonalize = specification("newton_schulz").reference
    rng = np.random.default_rng(0)
    calls = answers("newton_schulz", newton_schulz, [((rng.normal(size=(b, 2, 2)),), {}) for b in (2, 3, 5)])
    for call in calls:
        call.settle(ARGUMENT)
    evidence = Evidence.gather(calls)
    assert evidence.wrong
    assert find_other_convention(evidence) is None
