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
