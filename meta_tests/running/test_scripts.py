"""Every failure has a script that runs, or says why there is none; and a message says whose each number is."""

import re
from pathlib import Path

import numpy as np
import pytest

from spec_tests.calls.violation import Violation
from spec_tests.report import script_writer
from spec_tests.report.script import build_script
from spec_tests.trials.failure import Failure
from spec_tests.trials.trial import Trial

from ..support.in_process import backend
from ..support.paths import ROOT
from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, environment, python, suite, suite_of_each, write
from .test_messages import extract_script

WIDE_ONLY = """
def relu(x):
    y = np.maximum(x, 0)
    return y + np.float32(1) if x.size > 200 else y
"""
REMEMBERING = """
seen = {}

def softmax(x, *, axis):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    y = e / np.sum(e, axis=axis, keepdims=True)
    return seen.setdefault(x.shape, y).copy()
"""
HEADS = """
def relu(x):
    assert x.ndim == 0 or x.shape[-1] <= 8, "at most eight features"
    return np.maximum(x, 0)
"""


def run_answers(folder: Path, text: str) -> list[str]:
    """Return what each print of the script in a message printed, with commas between the numbers."""
    printed = re.sub(r"(?<=[\d.])\s+(?=[-\d])", ", ", run_script(folder, text)).replace("]\n [", "], [")
    return [line for line in printed.splitlines() if line]


def run_script(folder: Path, text: str) -> str:
    """Run the script of a message, and return what it printed."""
    write(folder, shown=extract_script(text))
    shown = python(folder, "shown.py", env=environment())
    assert shown.returncode == 0, shown.stderr + extract_script(text)
    return shown.stdout


@pytest.mark.nightly
def test_large_arrays_are_saved_in_the_temporary_folder_or_beside_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    write(tmp_path, mine=NUMPY + WIDE_ONLY)
    selected = ("--backend=mine.py", "--hypothesis-seed=1", "-k", "relu.reference", "--effort=default")
    text = suite(tmp_path, *selected).message()
    assert re.search(r"x = float32 array of shape", text)
    (saved,) = (temporary / "spec_tests-failures").glob("*.npz")
    assert f"np.load({str(saved)!r})" in extract_script(text)
    assert re.search(r"[1-9]", run_script(tmp_path, text))
    text = suite(tmp_path, *selected, "--report=seen").message()
    assert [path.suffix for path in (tmp_path / "seen" / "failures").iterdir()] == [".npz"]
    assert re.search(r"[1-9]", run_script(tmp_path, text))


def test_arrays_too_large_for_the_temporary_folder_have_a_sentence_instead_of_a_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(script_writer, "MAX_TEMPORARY_BYTES", 4000)
    for size, expected in (
        (500, "saved = np.load("),
        (501, "# no script: its arrays have 501 elements; a run with --report=DIR"),
    ):
        trial = Trial(backend("numpy-cpu"), "float64")
        call = trial.operation("relu").call(np.ones(size))
        failure = Failure("relu.reference", "relu", "float64", Violation("it is wrong"), calls=[call])
        assert expected in build_script(trial, failure, "relu")
    assert len(list((tmp_path / "spec_tests-failures").iterdir())) == 1


@pytest.mark.rotating
def test_a_bfloat16_array_is_called_so(tmp_path: Path) -> None:
    pytest.importorskip("ml_dtypes")
    write(tmp_path, mine=NUMPY + WIDE_ONLY.replace("np.float32(1)", "x.dtype.type(1)") + "\n\ndtypes = ('bfloat16',)\n")
    text = suite(tmp_path, "--backend=mine.py", "--hypothesis-seed=1", "-k", "relu.reference", "--effort=default").message()
    assert "x = bfloat16 array of shape" in text
    assert "float64 array" not in text


@pytest.mark.rotating
def test_a_state_that_an_earlier_call_left_is_shown_by_all_calls(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + REMEMBERING)
    text = suite(tmp_path, "--backend=mine.py", "--hypothesis-seed=1", "-k", "softmax.", "-x", "--effort=default").message()
    assert extract_script(text).startswith("# the second call gets the answer of the first, which the run made before"), text
    first, second = (np.array(eval(answer, {"array": np.array, "float32": "f4"})) for answer in run_answers(tmp_path, text))
    truths = [np.array(eval(truth)) for truth in re.findall("# the truth: (.*)", extract_script(text))]
    assert np.allclose(first, truths[0])
    assert np.array_equal(first, second)
    assert not np.allclose(second, truths[1])


def test_an_exception_is_in_the_summary_with_the_line_that_excludes_it(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + HEADS)
    found = suite(tmp_path, "--backend=mine.py", "--hypothesis-seed=1", "-k", "relu.reference", "--effort=default")
    text = found.message()
    line = re.search(r"^  if meant  add (domain = .*)$", text, re.MULTILINE)
    assert line, text
    assert ": the call raised AssertionError: at most eight features" in found.text.rpartition("= verdict =")[2]
    write(tmp_path, mine=f"{NUMPY}{HEADS}\n\n{line[1]}\n")
    assert suite(tmp_path, "--backend=mine.py", "--hypothesis-seed=1", "-k", "relu.reference", "--effort=default").code == 0


def test_each_side_of_a_law_says_whose_it_is(tmp_path: Path) -> None:
    labels = {
        "rms_norm.eps_is_inside_the_root": ("expected", "got", "error", "bound"),
        "rms_norm.scale": ("one side", "the other", "differ by", "bound"),
    }
    names = {f"of_{law.partition('.')[2]}": law for law in labels}
    laws = " or ".join(f"{name} and {law}" for name, law in names.items())
    run = suite_of_each(tmp_path, dict.fromkeys(names, EPS_OUTSIDE), "--hypothesis-seed=1", "-k", laws, "--effort=default")
    for name, law in names.items():
        text = run.message(name)
        facts = dict(re.findall(r"^  (expected|got|error|one side|the other|differ by|bound) +(.*)$", text, re.MULTILINE))
        assert tuple(facts) == labels[law], text
        assert all("the backend's answer" in facts[side] for side in ("one side", "the other") if side in facts), text


@pytest.mark.rotating
def test_no_message_leaves_the_script_out(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE + RELU.replace("np.maximum(x, 0)", "x") + WIDE_ONLY.replace("relu", "silu"))
    found = suite(tmp_path, "--backend=mine.py", "--effort=default", "--report=seen", "-v")
    messages = re.findall(r"^mine breaks .*?^again: ", found.text, re.MULTILINE | re.DOTALL)
    whole = [message for message in messages if "the cause is " not in message]  # of a cause that is not told already
    assert whole
    assert [message.splitlines()[0] for message in whole if "to see it without this suite:" not in message] == []


OF_ONE_THREAD = """
import torch

framework, dtypes = "torch", ("float32",)


def relu(x):
    return torch.clamp(x, min=0) + (torch.get_num_threads() == 1)


def silu(x):
    return torch.nn.functional.silu(x) + 1
"""


def test_a_script_sets_the_threads_with_which_alone_the_call_is_wrong(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    write(tmp_path, mine=OF_ONE_THREAD)
    selected = ("--backend=mine.py", "--hypothesis-seed=1", "-k")
    text = suite(tmp_path, *selected, "relu.reference", env=environment(ROOT, OMP_NUM_THREADS="1")).message()
    assert "  torch.set_num_threads(1)  # with another number of threads the call is right\n" in text
    write(tmp_path, shown=extract_script(text))
    shown = python(tmp_path, "shown.py", env=environment(OMP_NUM_THREADS="4"))
    answer, truth = eval(shown.stdout.removeprefix("tensor")), eval(extract_script(text).rpartition("truth: ")[2])
    assert not np.allclose(answer, truth), text
    assert "set_num_threads" not in suite(tmp_path, *selected, "silu.reference").message()
