"""Test the score: what it is made of, that right code scores above wrong code, and that cheating does not pay."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spec_tests
from spec_tests.commands import main
from spec_tests.commands.score import format_score
from spec_tests.report.score import Score

from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RMS_NORM, SOFTMAX

REFUSING = """
def rms_norm(x, weight, *, eps):
    if x.shape[-1] > 4:
        raise NotImplementedError("small rows only")
    h = x.astype(np.float64)
    return (h / np.sqrt(np.mean(np.square(h), -1, keepdims=True) + eps) * weight).astype(x.dtype)
"""
TINY_DOMAIN = REFUSING.replace("NotImplementedError", "ValueError") + 'domain = {"rms_norm": {"d": (2, 4)}}\n'
ENDS_THE_PROCESS = "import os\n" + EPS_OUTSIDE.replace("    h =", "    os._exit(0)\n    h =")
PATCHES_THE_JUDGE = """
import spec_tests.bounds.expectation as judge
judge.Expectation.accepts = lambda self, values: np.ones(np.shape(values), bool)
"""
IMPORTS_THE_ORACLE = """
from reference_numpy.rms_norm import rms_norm as oracle
def rms_norm(x, weight, *, eps):
    return oracle(x, weight, eps=eps).astype(x.dtype)
"""


def score(folder: Path, body: str, **options: object) -> Score:
    (folder / "kernel.py").write_text(NUMPY + body)
    return spec_tests.score(str(folder / "kernel.py"), "rms_norm", effort="smoke", **{"seed": 5, **options})  # type: ignore[arg-type]


@pytest.mark.rotating
def test_right_code_has_the_whole_score(tmp_path: Path) -> None:
    found = score(tmp_path, RMS_NORM)
    assert (found.value, found.laws, found.coverage, found.precision, found.causes) == (1.0, 1.0, 1.0, 1.0, [])


@pytest.mark.rotating
def test_wrong_code_has_at_most_a_quarter_and_is_told_why(tmp_path: Path) -> None:
    found = score(tmp_path, EPS_OUTSIDE)
    assert 0 < found.value <= 0.25
    assert any("eps-outside-sqrt" in cause for cause in found.causes or [])


@pytest.mark.rotating
def test_the_value_does_not_depend_on_the_search_for_causes(tmp_path: Path) -> None:
    found, bare = score(tmp_path, EPS_OUTSIDE), score(tmp_path, EPS_OUTSIDE, causes=False)
    assert bare == replace(found, causes=None)
    assert ", causes not looked for" in format_score(bare)


@pytest.mark.nightly
def test_a_seed_gives_the_same_score_again(tmp_path: Path) -> None:
    assert score(tmp_path, EPS_OUTSIDE, seed=11) == score(tmp_path, EPS_OUTSIDE, seed=11)
    assert score(tmp_path, RMS_NORM, seed=None).seed != score(tmp_path, RMS_NORM, seed=None).seed


@pytest.mark.rotating
@pytest.mark.parametrize("body", [REFUSING, TINY_DOMAIN], ids=["refuses", "states a tiny domain"])
def test_code_that_asks_for_less_has_less(tmp_path: Path, body: str) -> None:
    assert score(tmp_path, body).value < 0.5


def test_a_task_that_asks_for_less_does_not_take_points(tmp_path: Path) -> None:
    found = score(tmp_path, REFUSING, domain={"d": [2, 4]})
    assert found.value == found.skill == found.coverage == 1.0
    assert "d" in found.domain


GELU_WITHOUT_TANH = """
from math import erf
def gelu(x, *, approximate="none"):
    if approximate != "none":
        raise NotImplementedError("the exact form only")
    h = x.astype(np.float64)
    return (h * 0.5 * (1 + np.vectorize(erf, otypes=[np.float64])(h / np.sqrt(2)))).astype(x.dtype)
"""


@pytest.mark.rotating
def test_a_refused_option_counts_unless_the_task_leaves_it_out(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(NUMPY + GELU_WITHOUT_TANH)
    options: dict[str, Any] = {"effort": "smoke", "causes": False}
    refusing = [spec_tests.score(str(tmp_path / "kernel.py"), "gelu", seed=seed, **options) for seed in range(4)]
    assert np.mean([score.value for score in refusing]) < 0.6, "one seed may draw the default alone in many laws"
    assert spec_tests.score(str(tmp_path / "kernel.py"), "gelu", domain={"approximate": ["none"]}, seed=0, **options).value == 1.0


def test_a_dtype_of_the_task_that_is_lacking_counts_as_unanswered(tmp_path: Path) -> None:
    assert score(tmp_path, RMS_NORM, dtype=["float32", "float16"]).value < 0.75


@pytest.mark.rotating
@pytest.mark.parametrize(
    "body",
    [ENDS_THE_PROCESS, EPS_OUTSIDE + PATCHES_THE_JUDGE, IMPORTS_THE_ORACLE],
    ids=["ends the process", "patches the judge", "imports the oracle"],
)
def test_cheating_does_not_pay(tmp_path: Path, body: str) -> None:
    assert score(tmp_path, body).value <= 0.25


@pytest.mark.rotating
def test_the_command_prints_the_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kernel.py").write_text(NUMPY + RMS_NORM)
    words = ["score", str(tmp_path / "kernel.py"), "rms_norm", "--effort=smoke", "--seed=5"]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == 1.0
    assert main(words) == 0
    parts = "skill 1.000, laws 1.000, coverage 1.000, precision 1.000, causes 0"
    assert capsys.readouterr().out.startswith(f"1.000  rms_norm\n  {parts}\n")


def test_an_operation_that_the_backend_lacks_scores_nothing(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(NUMPY + RMS_NORM)
    found = spec_tests.score(str(tmp_path / "kernel.py"), "relu", effort="smoke")
    assert found.value == 0
    assert found.reason == "nothing was tried"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["rms_nrm"], "there is no operation 'rms_nrm'. Did you mean rms_norm"),
        (["rms_norm", "--domain={"], "is no JSON"),
        (["rms_norm", '--domain={"e": [3]}'], "its domain of rms_norm names 'e'"),
        (["rms_norm", "--effort=none"], "there is no effort 'none'"),
    ],
)
def test_what_cannot_be_scored_is_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    (tmp_path / "kernel.py").write_text(NUMPY + RMS_NORM + SOFTMAX)
    with pytest.raises(SystemExit) as end:
        main(["score", str(tmp_path / "kernel.py"), *words])
    assert end.value.code == 4
    assert sentence in capsys.readouterr().err
