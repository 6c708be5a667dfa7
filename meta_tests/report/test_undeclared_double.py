"""float64 computed in float32 is one remark with the line to add, unless the backend states that it has float64."""

import html
import re
from pathlib import Path

import pytest

from spec_tests.report import read
from spec_tests.report.backend_results import build_results

from ..support.pytest_process import suite, write

IN_FLOAT32 = """import numpy as np
import pytest

framework = "numpy"

def silu(x):
    h = x.astype(np.float32)
    return (h / (1 + np.exp(-h))).astype(x.dtype)


def relu(x):
    return np.maximum(x, 0)


def sigmoid(x):
    return (1 / (1 + np.exp(-x.astype(np.float32)))).astype(x.dtype)
"""


@pytest.mark.rotating
def test_it_is_one_remark_with_the_line_to_add(tmp_path: Path) -> None:
    write(tmp_path, mine=IN_FLOAT32)
    run = suite(tmp_path, "--backend=mine.py", "--report=found", "-k", "silu.reference or sigmoid.reference or relu.reference")
    assert run.code == 1
    page = html.unescape((tmp_path / "found" / "report.html").read_text())
    (remark,) = build_results([read(tmp_path / "found")])[0].remarks["Computes float64 in float32"]
    assert remark.endswith('a line says so; add dtypes = ("float32", "bfloat16", "float16")')
    assert page.count("Computes float64 in float32") == 1
    assert page.count(remark) == 1
    assert re.findall(r"^cause \d+: ", run.text, re.MULTILINE) == ["cause 1: "]
    _, _, remark = run.text.partition("computes float64 in float32:")
    assert "sigmoid, silu: the right equation" in remark
    line = next(line.partition("add: ")[2] for line in remark.splitlines() if "add: " in line)
    assert line == 'dtypes = ("float32", "bfloat16", "float16")'
    write(tmp_path, mine=f"{IN_FLOAT32}\n\n{line}\n")
    assert suite(tmp_path, "--backend=mine.py", "-k", "silu.reference or sigmoid.reference").code == 0


def test_where_float64_is_stated_it_is_a_bug_as_any_other(tmp_path: Path) -> None:
    write(tmp_path, mine=f"{IN_FLOAT32}\n\ndtypes = ('float64',)\n")
    run = suite(tmp_path, "--backend=mine.py", "-k", "silu.reference")
    assert run.code == 1
    assert "cause 1: silu: the right equation, all or some of it computed in float32" in run.text
    assert "computes float64 in float32:" not in run.text
