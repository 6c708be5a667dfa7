"""Kernel repositories of Hugging Face: built for anything, as sources, and with builds for a GPU alone."""

from pathlib import Path

import pytest

from ..support.pytest_process import suite
from .importing import IMPORTED, find_passed, flatten, try_import

pytest.importorskip("torch")

RIGHT = {"activation": ("gated_activation",), "norms": ("rms_norm", "layer_norm", "rms_norm_vjp")}


@pytest.mark.rotating
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_repository_conforms(tmp_path: Path, name: str) -> None:
    run = try_import(tmp_path, f"huggingface_kernels/{name}", *RIGHT[name])
    assert run.code == 0, run.text
    assert find_passed(run) == set(RIGHT[name])
    assert "is read as a kernel repository of Hugging Face (" in flatten(run.text)


@pytest.mark.rotating
@pytest.mark.parametrize("more", [(), ("--isolate",)])
def test_a_wrong_repository_fails(tmp_path: Path, more: tuple[str, ...]) -> None:
    run = try_import(tmp_path, "huggingface_kernels/wrong_norm", "rms_norm", more=more)
    assert run.code == 1, run.text
    assert "rms_norm is the class RMSNorm(hidden_size, eps)" in flatten(run.text)


def test_builds_for_a_gpu_alone_are_refused(tmp_path: Path) -> None:
    run = suite(tmp_path, f"--backend={IMPORTED / 'huggingface_kernels/compiled'}")
    assert run.code == 4
    assert "its builds are torch26-cxx98-cu118-x86_64-linux: none is universal or for a CPU" in flatten(run.text)


def test_sources_without_what_is_compiled_are_refused_with_what_they_need(tmp_path: Path) -> None:
    package = tmp_path / "norms/torch-ext/norms"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from ._ops import ops\n")
    run = suite(tmp_path, f"--backend={tmp_path / 'norms'}")
    assert run.code == 4
    assert "it is a kernel repository of Hugging Face, which needs its compiled _ops" in flatten(run.text)


def test_an_installed_package_is_taken_by_its_name(tmp_path: Path) -> None:
    package = tmp_path / "my_norms"
    package.mkdir()
    (package / "__init__.py").write_text("from . import layers\n")
    (package / "layers.py").write_text((IMPORTED / "huggingface_kernels/norms/torch-ext/norms/layers.py").read_text())
    run = suite(tmp_path, "--backend=my_norms", "--effort=smoke", "-k", "rms_norm.reference")
    assert run.code == 0, run.text
    assert "my_norms is read as a kernel repository of Hugging Face (my_norms)" in flatten(run.text)
