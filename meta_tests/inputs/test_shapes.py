"""Test `--shapes=N`: the examples of an operation have N shapes at most, the same ones in every run."""

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

import spec_tests
from spec_tests.inputs.choices import shape_choices
from spec_tests.inputs.draw import Draw
from spec_tests.inputs.effort import using_effort
from spec_tests.specification.registry import operations
from spec_tests.trials.random_choices import RandomChoices
from spec_tests.trials.trial import Trial

from ..support.in_process import backend
from ..support.pytest_process import complaints, suite, write

Shapes = set[tuple[tuple[int, ...], ...]]


def draw_shapes(name: str, shapes: int | None, seed: int = 0, dtype: str = "float32", examples: int = 100) -> Shapes:
    """Return the shapes of the required arguments in some examples."""
    operation = Trial(backend("deviation:softmax_vjp/last-axis"), dtype).operation(name)
    found, random = set(), Random(seed)
    with using_effort("default", shapes):
        for _ in range(examples):
            choices = RandomChoices(random, name)
            call = Draw(choices.draw_integer, operation, choices.draw_shape).call()
            found.add(tuple(getattr(x, "shape", ()) for x in call.arguments))
    return found


@pytest.mark.parametrize("name", [*operations()[:2], "linear", "rms_norm", "scaled_dot_product_attention", "transformer_block"])
def test_an_operation_has_few_shapes(name: str) -> None:
    free, few = draw_shapes(name, None), draw_shapes(name, 2)
    assert len(few) < max(len(free) / 3, 3)


def test_shapes_are_the_same_for_each_seed_and_dtype_and_for_the_gradient() -> None:
    found = draw_shapes("rms_norm", 5)
    assert len(found) == 5
    assert found == draw_shapes("rms_norm", 5, seed=1) == draw_shapes("rms_norm", 5, dtype="float16")
    assert draw_shapes("rms_norm_vjp", 5) == {(x, x, weight) for (x, weight) in found}
    assert draw_shapes("rms_norm", 3) < found


def test_without_the_option_no_sequence_is_chosen() -> None:
    random = Random(3)
    before = random.getstate()
    assert shape_choices("relu", random) is None
    assert random.getstate() == before


NEVER_LARGE = """
framework = "numpy"
dtypes = ("float32",)

def relu(x):
    if x.size > 100:
        raise ValueError(f"{x.shape} is too large")
    return x.clip(0)
"""


def test_a_failure_prints_an_example_that_is_replayed_without_the_option(tmp_path: Path) -> None:
    write(tmp_path, mine=NEVER_LARGE)
    run = suite(tmp_path, "--backend=mine.py", "--shapes=4", "-k", "relu.reference", "--hypothesis-seed=1")
    (example,) = {fact["example"] for fact in run.facts if fact["status"] == "failed"}
    assert "4 shapes of each operation" in run.text
    again = suite(tmp_path, "--backend=mine.py", "-k", "relu.reference", f"--example={example}")
    assert again.code == 1
    assert re.search(r"ValueError: \(.*\) is too large", again.text)


def make_recording_relu(into: Shapes) -> Callable[..., object]:
    def relu(x):  # type: ignore[no-untyped-def]
        into.add((x.shape,))
        return x.clip(0)

    return relu


def test_check_takes_shapes_too() -> None:
    counts = []
    for shapes in (1, 6, None):
        seen: Shapes = set()
        spec_tests.check(
            {"framework": "numpy", "relu": make_recording_relu(seen)}, "relu.reference", dtype="float32", shapes=shapes
        )
        counts.append(len(seen))
    assert counts[0] <= 2  # with the shape of the simplest example
    assert all(few < more for few, more in pairwise(counts))


def test_a_wrong_number_of_shapes_is_reported_in_one_sentence(tmp_path: Path) -> None:
    (one, other) = complaints(tmp_path, "--shapes=0", "--shapes=few")
    assert one == "--shapes=0: give a whole number greater than 0, of shapes for each operation"
    assert other.startswith("--shapes=few: give a whole number")
    for shapes in (-1, 2.5):
        with pytest.raises(ValueError, match=rf"^shapes={shapes}: give a whole number greater than 0"):
            spec_tests.check({"framework": "numpy", "relu": abs}, shapes=shapes)  # type: ignore[arg-type]


def test_a_report_has_the_number_of_shapes_and_resumes_only_with_the_same(tmp_path: Path) -> None:
    write(tmp_path, mine="framework = 'numpy'\ndtypes = ('float32',)\ndef relu(x):\n    return x.clip(0)\n")
    words = ("--backend=mine.py", "--report=out", "-k", "relu.reference")
    assert suite(tmp_path, *words, "--shapes=4").code == 0
    assert '"shapes": 4' in (tmp_path / "out" / "report.jsonl").read_text()
    assert "4 shapes of each operation" in (tmp_path / "out" / "report.html").read_text()
    assert suite(tmp_path, *words, "--resume").complaint == "--resume: out is of a run with other shapes: 4, now none"
