"""A file of a package is imported as its project imports it."""

from pathlib import Path

from ..support.pytest_process import suite, write

NORM = """
    import torch
    from torch import nn
    from model.numbers import EPS

    class RMSNorm(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            return x / (x.square().mean(-1, keepdim=True) + EPS).sqrt() * self.weight
"""


def test_a_module_with_the_name_of_its_package_does_not_stand_for_it(tmp_path: Path) -> None:
    """In model/norms.py, `model` is the package, though there is a model/model.py, too."""
    (tmp_path / "model").mkdir()
    write(tmp_path / "model", __init__="", numbers="EPS = 1e-6", norms=NORM, model="from model.norms import RMSNorm")
    run = suite(tmp_path, "--backend=model/norms.py", "--effort=smoke", "-k", "rms_norm.reference")
    assert run.code == 0, run.text


def test_a_module_elsewhere_in_the_repository_is_found(tmp_path: Path) -> None:
    """An author starts Python in the folder of the repository, from where `utils` is found."""
    for folder in (".git", "utils", "models/parts"):
        (tmp_path / folder).mkdir(parents=True)
    write(tmp_path / "utils", numbers="EPS = 1e-6")
    write(tmp_path / "models" / "parts", norms=NORM.replace("model.numbers", "utils.numbers"))
    run = suite(tmp_path, "--backend=models/parts/norms.py", "--effort=smoke", "-k", "rms_norm.reference")
    assert run.code == 0, run.text


def test_a_script_says_where_the_modules_of_the_repository_are(tmp_path: Path) -> None:
    for folder in (".git", "utils", "models"):
        (tmp_path / folder).mkdir()
    write(tmp_path / "utils", numbers="SLOPE = 0.01")
    write(
        tmp_path / "models",
        mine="import torch\nfrom utils.numbers import SLOPE\n\ndef relu(x):\n    return x.maximum(SLOPE * x)\n",
    )
    run = suite(tmp_path, "--backend=models/mine.py", "--effort=smoke", "-k", "relu.reference")
    assert f"# in {tmp_path / 'models'}, with PYTHONPATH={tmp_path}" in run.text, run.text


def test_a_part_that_an_installed_package_lacks_is_not_called_a_package(tmp_path: Path) -> None:
    write(tmp_path, mine="import json.functionl")
    run = suite(tmp_path, "--backend=mine.py")
    assert "it imports 'json.functionl', which the package json that is installed here does not have" in " ".join(
        run.text.split()
    )


def test_the_line_of_the_file_is_shown_and_not_that_of_a_library(tmp_path: Path) -> None:
    write(tmp_path, mine="from importlib.metadata import version\nnumber = version('not_there')")
    said = " ".join(suite(tmp_path, "--backend=mine.py").text.split())
    assert f"the package not_there, which is not installed here (line 2 of {tmp_path / 'mine.py'})" in said
