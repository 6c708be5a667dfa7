"""Tests of the message of a failure: what broke, on which inputs, how far off it is, how to see it again, on one screen."""

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spec_tests.bounds.bounded import Bounded
from spec_tests.calls.violation import Violation
from spec_tests.helpers.assertions import assert_equal
from spec_tests.report.reproduction import format_array
from spec_tests.specification.formats import Arithmetic

from ..support.pytest_process import EPS_OUTSIDE, NUMPY, environment, pytest_run, python, suite, suite_of_each, write

pytestmark = [pytest.mark.rotating, pytest.mark.xdist_group("running/messages")]  # which share a run


def extract_script(text: str) -> str:
    """Return the script in a message."""
    lines = text.partition("to see it without this suite:\n")[2].partition("\n\n")[0]
    return "\n".join(line.removeprefix("  ") for line in lines.splitlines())


def test_what_is_not_claimed_is_not_counted() -> None:
    float32 = Arithmetic.of("float32")
    left, right = (Bounded([np.nan, 1.0, last], [np.inf, 0.0, 0.5], float32) for last in (2.0, 4.0))
    with pytest.raises(Violation, match=r"^1 of 3 elements differ; the worst is \[2\]"):
        assert_equal(left, right)


WRONG = {
    "shape": ("return np.maximum(x, 0)[None]", "reference", r"the result has shape \(.*\)\n  expected  \("),
    "list": ("return list(np.maximum(x, 0))", "reference", r"the result is a list, not an array of numpy"),
    "none": ("return None", "reference", r"the result is a NoneType, not an array of numpy"),
    "exception": (
        "return x.nowhere",
        "reference",
        r"the call raised AttributeError: 'numpy.ndarray' object has no attribute 'nowh",
    ),
    "dtype": ("return np.maximum(x, 0).astype('float64')", "dtype_shape_device", r"the result is float64\n  expected  float32"),
    "changed": ("return np.maximum(x, 0, out=x)", "inputs_unchanged", r"argument x was changed by the call"),
    "nan": ("return x * np.float32('nan')", "reference", r"the worst is .*\n  expected  \S+\n  got       nan\n"),
}

REFUSING = """
    if x.size == 0:
        raise ValueError("nothing to normalize")"""

FORGETFUL = """
import functools

@functools.cache
def kept(d_k):
    return {}

def rope(x, positions, *, theta=10000.0):
    theta = kept(x.shape[-1]).setdefault("theta", theta)
    angle = positions[..., None] * theta ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    a, b = x[..., 0::2].astype(np.float64), x[..., 1::2].astype(np.float64)
    turned = np.stack([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)], -1)
    return turned.reshape(x.shape).astype(x.dtype)
"""

CAUSES = {  # a backend's code, and the law whose message is looked at
    "of_law": (EPS_OUTSIDE, "rms_norm.eps_is_inside_the_root"),
    "of_reference": (EPS_OUTSIDE, "rms_norm.reference"),
    "of_refusing": (EPS_OUTSIDE.replace("eps):", f"eps):{REFUSING}"), "rms_norm.empty"),
    "of_forgetful": (FORGETFUL, "rope.reference"),
    "of_printing": ("\n\ndef relu(x):\n    print('noise')\n    return x\n", "relu.reference"),
    **{f"of_{how}": (f"\n\ndef relu(x):\n    {line}\n", f"relu.{law}") for how, (line, law, _) in WRONG.items()},
}


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the message of each backend of CAUSES. One run makes all of them."""
    bodies = {name: body for name, (body, _) in CAUSES.items()}
    laws = " or ".join(f"{name} and {law}" for name, (_, law) in CAUSES.items())
    run = suite_of_each(tmp_path_factory.mktemp("causes"), bodies, "--hypothesis-seed=1", "-k", laws)
    assert len(run.facts) == len(CAUSES), run.text
    return {name: run.message(name) for name in CAUSES}


def test_the_message_says_everything_in_order(messages: dict[str, str]) -> None:
    text = messages["of_law"]
    parts = (
        r"^of_law breaks rms_norm\.eps_is_inside_the_root$",
        r"^  For \|x\| far below √ε, y = x g / √ε for the ε that is given\. A row of zeros gives exactly zeros\.$",
        r"^  \(within the derived bound, CS336 assignment 1, eq\. \(4\); float32, default device, numpy \d+\.\d+\.\d+\)$",
        r"^rms_norm\($",
        r"^    x = \[\[",
        r"^    weight = \[",
        r"^    eps = \d",
        r"^\d+ of \d+ elements differ; the worst is \[\d+, \d+\]$",
        r"^  expected  -?\d",
        r"^  got       -?\d",
        r"^  error     .* x the bound$",
        r"^  bound     \d",
        r"^to see it without this suite:$",
        r"^  import numpy as np$",
        r"^  print\(backend\.rms_norm\(np\.array\(",
        r"^again: pytest --pyargs spec_tests --backend=of_law\.py --dtype=float32 --example=[\d.]+ -k rms_norm\.eps_is_inside",
    )
    rest = text
    for part in parts:
        found = re.search(part, rest, re.MULTILINE)
        assert found, f"{part} is missing, or out of order, in\n{text}"
        rest = rest[found.end() :]
    assert len(text.splitlines()) <= 50
    assert len(extract_script(text).splitlines()) < 8


def test_the_worst_element_the_script_and_the_command_are_true(messages: dict[str, str], tmp_path: Path) -> None:
    text = messages["of_reference"]
    fact = {name: re.search(rf"^  {name} +(\S+)(.*)$", text, re.MULTILINE) for name in ("expected", "got", "error", "bound")}
    expected, got, error, bound = (float(found[1]) for found in fact.values() if found)
    assert abs(got - expected) == pytest.approx(error, rel=0.01)
    share = re.search(r" = (\S+) x the bound, (\S+) ulp of float32", fact["error"][2] if fact["error"] else "")
    assert share
    assert error / bound == pytest.approx(float(share[1]), rel=0.02)

    write(tmp_path, of_reference=NUMPY + EPS_OUTSIDE, shown=extract_script(text))
    shown = python(tmp_path, "shown.py", env=environment())
    assert shown.returncode == 0, shown.stderr
    printed = [float(number) for number in re.findall(r"-?\d+\.\d*(?:e[-+]\d+)?", shown.stdout)]
    assert any(number == pytest.approx(got, rel=1e-6) for number in printed), f"{got} is not in {shown.stdout}"

    words = shlex.split(text.rpartition("again: pytest ")[2])
    again = pytest_run(tmp_path, "-p", "spec_tests.plugin", "-p", "no:cacheprovider", *words)
    assert again.message("of_reference").splitlines()[0] == "of_reference breaks rms_norm.reference"
    assert len(again.facts) == 1


@pytest.mark.parametrize("how", WRONG)
def test_what_is_wrong_is_said(how: str, messages: dict[str, str]) -> None:
    _, invariant, said = WRONG[how]
    text = messages[f"of_{how}"]
    assert re.search(said, text), text
    assert text.startswith(f"of_{how} breaks relu.{invariant}\n")
    assert "again: pytest" in text
    assert "Traceback" not in text
    assert len(text.splitlines()) <= 50


def test_what_the_backend_prints_is_not_in_the_way(messages: dict[str, str]) -> None:
    assert "noise" not in messages["of_printing"].partition("again:")[0]


def test_a_call_without_an_answer_is_not_explained_by_what_others_answered(messages: dict[str, str]) -> None:
    assert "matches" in messages["of_reference"]
    text = messages["of_refusing"]
    assert "the call raised ValueError: nothing to normalize" in text
    assert "matches" not in text


def test_an_option_that_is_not_asked_for_is_said_with_the_value_that_is_taken(messages: dict[str, str]) -> None:
    text = messages["of_forgetful"]
    assert "matches   the right answer for another theta than was given (another theta)" in text
    assert re.search(r"^  theta     [\d.]+", text, re.MULTILINE)


BACKENDS = {
    "package.dotted": ("package.dotted", "importlib.import_module('package.dotted')"),
    "package.of_class:Mine": ("package.of_class:Mine", "importlib.import_module('package.of_class').Mine()"),
    "package/relative.py": ("relative", "importlib.import_module('package.relative')  # in "),
    "single.py:Mine": ("single:Mine", "importlib.import_module('single').Mine()  # in "),
    "wrong-one.py": ("wrong-one", "importlib.import_module('wrong-one')  # in "),
}


def test_the_script_loads_the_backend_however_it_was_named(tmp_path: Path) -> None:
    (folder := tmp_path / "package").mkdir()
    of_class = "\n\nclass Mine:\n    framework = 'numpy'\n    rms_norm = staticmethod(rms_norm)\n    dtypes = ('float32',)\n"
    write(folder, dotted=NUMPY + EPS_OUTSIDE, of_class=NUMPY + EPS_OUTSIDE + of_class, relative="from .dotted import *")
    write(tmp_path, **{"wrong-one": NUMPY + EPS_OUTSIDE}, single=NUMPY + EPS_OUTSIDE + of_class)
    run = suite(tmp_path, *(f"--backend={text}" for text in BACKENDS), "-k", "rms_norm.reference")
    for text, (name, load) in BACKENDS.items():
        shown = run.message(name)
        assert f"backend = {load}" in extract_script(shown)
        assert f"again: pytest --pyargs spec_tests --backend={text} " in shown
        write(tmp_path, shown=extract_script(shown))
        assert python(tmp_path, "shown.py", env=environment()).returncode == 0, shown


def test_a_bfloat16_script_runs(tmp_path: Path) -> None:
    pytest.importorskip("ml_dtypes")
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE + "\n\ndtypes = ('bfloat16',)")
    run = suite(tmp_path, "--backend=mine.py", "--hypothesis-seed=1", "-k", "rms_norm.reference", "--effort=default")
    write(tmp_path, shown=extract_script(run.message()))
    shown = python(tmp_path, "shown.py", env=environment())
    assert shown.returncode == 0, shown.stderr


def test_a_missing_requirement_is_one_line(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE)
    text = suite(tmp_path, "--backend=mine.py", "-k", "relu.reference", "--require=relu").message()
    assert "required, but mine does not implement relu" in text


DETACHED = """
import torch

framework = "torch"
dtypes = ("float32",)

def silu(x):
    return x * torch.sigmoid(x).detach()
"""


def test_the_script_of_a_gradient_differentiates(tmp_path: Path) -> None:
    write(tmp_path, mine=DETACHED)
    shown = suite(tmp_path, "--backend=mine.py", "--hypothesis-seed=1", "-k", "silu_vjp.reference").message()
    got = re.search(r"^  got +(\S+)$", shown, re.MULTILINE)
    assert got
    write(tmp_path, shown=extract_script(shown))
    answered = python(tmp_path, "shown.py", env=environment())
    assert answered.returncode == 0, answered.stderr
    assert got[1][:6] in answered.stdout


@pytest.mark.parametrize("x", [[[-4.0, 0.75], [-(2.0**-140), 3e38]], [0.5, 1 / 3], [-0.25, 2.0, 1e-30]])
def test_an_array_is_written_as_shortly_as_its_numbers_allow(x: list[Any]) -> None:
    written = format_array(np.array(x))
    assert np.array_equal(eval(written), x)
    assert "00" not in written
