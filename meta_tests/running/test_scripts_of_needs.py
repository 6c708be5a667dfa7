"""A script gives a call what its failure needs: a layout, a repeated batch, held answers, dirty memory. Else it says so."""

import re
from pathlib import Path

import numpy as np
import pytest

from spec_tests.calls.violation import Lost, Violation
from spec_tests.report.script import build_script
from spec_tests.specification.run_settings import Limits, using_settings
from spec_tests.trials.failure import Failure
from spec_tests.trials.raising_region import MAX_LOST, find_raising_region
from spec_tests.trials.trial import Trial

from ..support.in_process import backend
from ..support.pytest_process import NUMPY, environment, python, suite, write
from .test_messages import extract_script

IGNORES_STRIDES = """
def relu(x):
    base = x
    while isinstance(base.base, np.ndarray):
        base = base.base
    return np.maximum(np.resize(base.reshape(-1), x.shape), 0)
"""
IGNORES_STRIDES_OF_WEIGHT = """
def rms_norm(x, weight, *, eps):
    base = weight
    while isinstance(base.base, np.ndarray):
        base = base.base
    h = x.astype(np.float64)
    y = h / np.sqrt(np.mean(h * h, axis=-1, keepdims=True) + eps) * np.resize(base, weight.shape)
    return y.astype(x.dtype)
"""
CHANGES_ITS_ARGUMENT = """
def relu(x):
    y = np.maximum(x, 0)
    if not x.flags.c_contiguous and x.flags.writeable and x.size:
        x[...] = 7
    return y
"""
KEEPS_A_BUFFER = """
buffers = {}

def relu(x):
    y = buffers.setdefault((x.shape, x.dtype), np.empty_like(x))
    y[...] = np.maximum(x, 0)
    return y
"""
ENDS_AT_65536 = """
def relu(x):
    y = np.maximum(x, 0)
    if x.ndim and x.shape[0] > 65536:
        y[65536:] = -1
    return y
"""
IS_WRONG_AT_TIMES = """
calls = 0

def relu(x):
    global calls
    calls += 1
    return np.maximum(x, 0) + x.dtype.type(calls == 9)
"""
SOURCES = {  # the source, the law, and the comment of the script that would be right
    "strided": (
        IGNORES_STRIDES,
        "relu.layout_blind",
        r"alone it is right; it is wrong with [\w ]+ arguments",
    ),
    "of_weight": (IGNORES_STRIDES_OF_WEIGHT, "rms_norm.layout_blind", r"alone it is right; it is wrong with [\w ]+ arguments"),
    "changes": (
        CHANGES_ITS_ARGUMENT,
        "relu.inputs_unchanged",
        r"the answer is right, but the call changes x, with [\w ]+ arguments",
    ),
    "buffer": (
        KEEPS_A_BUFFER,
        "relu.not_an_alias",
        "what the law does, in its order: an answer that was right is wrong after the later calls",
    ),
    "entries": (ENDS_AT_65536, "relu.many_entries", r"alone it is right; it is wrong with its batch repeated \d+ times"),
}


@pytest.mark.rotating
@pytest.mark.parametrize("name", SOURCES)
def test_the_script_shows_the_failure(name: str, tmp_path: Path) -> None:
    source, law, comment = SOURCES[name]
    write(tmp_path, mine=NUMPY + source)
    text = suite(tmp_path, "--backend=mine.py", "--hypothesis-seed=1", "-k", law, "--effort=default").message()
    script = extract_script(text)
    assert re.match(f"# {comment}", script), text
    write(tmp_path, shown=f"import numpy as np\nnp.set_printoptions(threshold=10**6)\n{script}")
    shown = python(tmp_path, "shown.py", env=environment())
    assert shown.returncode == 0, shown.stderr + script
    blocks = re.split(r"\]\n(?=\[)", shown.stdout.strip())
    expected = re.findall("# (?:the truth|before the call): (.*)", script)
    assert len(blocks) == len(expected), shown.stdout + script
    numbers = [[float(number) for number in re.findall(r"-?\d[\d.e+-]*|nan|inf", text)] for text in (*blocks, *expected)]
    assert any(
        got[: len(right)] != pytest.approx(right, rel=1e-3, abs=1e-6, nan_ok=True)
        for got, right in zip(numbers[: len(blocks)], numbers[len(blocks) :], strict=True)
    ), shown.stdout + script


@pytest.mark.rotating
def test_a_call_that_is_right_alone_says_so(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + IS_WRONG_AT_TIMES)
    text = suite(tmp_path, "--backend=mine.py", "--hypothesis-seed=1", "-k", "relu.reference", "--effort=default").message()
    assert extract_script(text).startswith("# alone it is right, element by element; the command below"), text


def test_a_result_of_a_wrong_dtype_is_not_called_right(tmp_path: Path) -> None:
    write(tmp_path, mine=f"{NUMPY}\ndef relu(x):\n    return np.maximum(x, 0).astype(np.float64)\n")
    text = suite(tmp_path, "--backend=mine.py", "--hypothesis-seed=1", "-k", "relu.dtype_shape_device").message()
    assert extract_script(text).startswith("import importlib"), text


UNWRITTEN = """
def softmax(x, *, axis):
    y = np.empty_like(x)
    is_dirty = np.any(np.isnan(y))
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    right = e / np.sum(e, axis=axis, keepdims=True)
    if not is_dirty:  # as where the memory that is free happens to hold what is right
        y[...] = right
    y.reshape(-1)[:-1] = right.reshape(-1)[:-1]
    return y
"""


def test_memory_that_is_never_written(tmp_path: Path) -> None:
    """The script frees arrays of NaN before the call. The function imitates an allocator whose free memory is often right."""
    write(tmp_path, mine=NUMPY + UNWRITTEN)
    trial = Trial(backend(str(tmp_path / "mine.py")), "float32")
    operation = trial.operation("softmax")
    call = operation.call(np.arange(5000.0), axis=-1)
    operation.values(call, operation.run(call))
    failure = Failure("softmax.reference", "softmax", "float32", Violation("it is wrong"), calls=[call])
    script = build_script(trial, failure, "softmax")
    assert script.startswith(
        "# alone it is right; it is wrong where free memory holds NaN, since it does not write each element"
    ), script
    write(tmp_path, shown=script)
    shown = python(tmp_path, "shown.py", env=environment())
    assert "nan" in shown.stdout, shown.stdout + shown.stderr


HANGS = """
import time

calls = 0

def relu(x):
    global calls
    if x.ndim and x.shape[-1] > 16:
        calls += 1
        time.sleep(60)
    return np.maximum(x, 0)
"""


def test_where_calls_are_lost(tmp_path: Path) -> None:
    """A region is named of few calls that time out, and of those that were answered before."""
    write(tmp_path, mine=NUMPY + HANGS)
    trial = Trial(backend(str(tmp_path / "mine.py")), "float32")
    operation = trial.operation("relu")
    with using_settings(limits=Limits(seconds=0.5)):
        answered = [operation.call(np.ones((rows, d))) for rows in (2, 3, 5) for d in (1, 2, 4, 7, 8, 12, 16)]
        for call in answered:
            operation.values(call, operation.run(call))
        trial.remember(answered)
        failed = operation.call(np.ones((2, 40)))
        with pytest.raises(Lost):
            operation.run(failed)
        region = find_raising_region(operation, failed)
    assert region is not None
    assert region.words.startswith("refuses d > 16")
    assert region.advice == 'domain = {"relu": {"d": range(1, 17)}}'
    assert trial.backend.source.calls <= MAX_LOST
