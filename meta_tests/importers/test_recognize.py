"""The command that counts what is recognized in a folder, and what a file says that it is."""

import json
import shutil
import warnings
from pathlib import Path

import pytest

from spec_tests import commands
from spec_tests.implementation.environment import read_literal
from spec_tests.importers import list_claims

from .importing import IMPORTED

pytest.importorskip("torch")

PROBLEM = "class Model: ...\n"
NAMES = {
    "23_Softmax.py": ("softmax",),
    "layer_norm.py": ("layer_norm",),
    "40_LayerNorm.py": ("layer_norm",),
    "36_RMSNorm_.py": ("rms_norm",),
    "97_ScaledDotProductAttention.py": ("scaled_dot_product_attention",),
    "20_LeakyReLU.py": (),
    "12_Gemm_Multiply_LeakyReLU.py": (),
    "28_HardSigmoid.py": (),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_that_of_an_operation_if_no_other_word_stands_beside_it(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(PROBLEM)
    assert list_claims(tmp_path / name) == NAMES[name]


def test_kernels_and_classes_say_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "kernel.json").write_text(json.dumps({"op_type": "rmsnorm", "name": "gemma_rmsnorm_h2048"}))
    (tmp_path / "parts.py").write_text("class LlamaRMSNorm: ...\n\n\nclass Tokenizer: ...\n")
    assert list_claims(tmp_path / "kernel.json") == ("rms_norm",)
    assert list_claims(tmp_path / "parts.py") == ("rms_norm",)
    assert list_claims(tmp_path / "absent.json") == ()


def test_files_are_counted_by_format_and_a_file_that_dies_stops_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(IMPORTED / "flashinfer_bench" / "unknown", tmp_path / "unknown")
    shutil.copy(IMPORTED / "flashinfer_bench/rms_norm/definition.json", tmp_path / "rmsnorm_h64.json")
    (tmp_path / "relu.py").write_text("import torch\n\n\nclass ReLU(torch.nn.Module):\n    forward = staticmethod(torch.relu)\n")
    (tmp_path / "softmax.py").write_text("import os\n\nos._exit(3)\n\n\nclass Softmax(torch.nn.Module): ...\n")
    (tmp_path / "noise.py").write_text("print('not loaded')\n")
    (tmp_path / "broken.py").write_text("import torch\n\nclass = 3\n")
    assert commands.main(["recognize", str(tmp_path), "--each", "--workers", "2"]) == 0
    printed = capsys.readouterr().out
    assert f"taken      {tmp_path / 'relu.py'}: relu" in printed
    assert f"taken      {tmp_path / 'rmsnorm_h64.json'}: rms_norm" in printed
    assert f"not taken  {tmp_path / 'softmax.py'}: its process ended" in printed
    assert f"other      {tmp_path / 'broken.py'}: invalid syntax in line 3" in printed
    assert "noise" not in printed
    rows = {line[:-51].strip(): line.split()[-5:] for line in printed.splitlines() if line[-1:].isdigit()}
    assert rows["torch.nn modules"] == ["1", "1", "0", "0", "0"]
    assert rows["Python that cannot be parsed"] == ["1", "0", "0", "0", "1"]
    assert rows["a definition and a solution of flashinfer-bench"] == ["2", "1", "0", "0", "1"]


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["recognize", str(tmp_path / "absent")]) == 4
    assert capsys.readouterr().err.startswith("ERROR: spec-tests recognize: there is no folder ")


def test_what_has_to_be_compiled_is_recognized_and_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    package = tmp_path / "rmsnorm" / "torch-ext" / "rmsnorm"
    package.mkdir(parents=True)
    (tmp_path / "rmsnorm" / "build.toml").write_text("")
    (package / "__init__.py").write_text("from ._ops import ops\n")
    (tmp_path / "softmax.py").write_text("import nothing_of_this_name\nimport torch\n\n\nclass Softmax(torch.nn.Module): ...\n")
    assert commands.main(["recognize", str(tmp_path), "--each", "--workers", "2"]) == 0
    printed = capsys.readouterr().out
    assert (
        f"refused    {tmp_path / 'rmsnorm'}: it is a kernel repository of Hugging Face, which needs its compiled _ops" in printed
    )
    assert f"refused    {tmp_path / 'softmax.py'}: it imports 'nothing_of_this_name'" in printed


def test_escapes_that_python_warns_of_are_reported_where_the_file_is_imported_alone(tmp_path: Path) -> None:
    file = tmp_path / "written.py"
    file.write_text('framework = "torch"\nformula = "the angle \\Theta"\n')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_literal(file, "framework") == "torch"
        assert list_claims(file) == ()
