"""The code of the sources as it stands, read from the documents themselves: SPEC_TESTS_SOURCES names the folder that has them.

The documents are not part of the repository. Each block of code becomes a file, and no line is added to it.
"""

import os
import re
from pathlib import Path

import pytest

from ..support.pytest_process import suite

pytest.importorskip("torch")
FOLDER = os.environ.get("SPEC_TESTS_SOURCES", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="SPEC_TESTS_SOURCES names no folder of documents")
EXERCISE = re.compile(r"^Exercise (\d+) ", re.MULTILINE)
SOLUTION = re.compile(r"^Solution:\n(.*)", re.MULTILINE | re.DOTALL)
END = "What you’ve practiced"

CONFORMING = {  # the operations of each exercise's code that conform
    1: ("attention_with_weights",),
    2: ("multihead_self_attention",),
    3: ("rope",),
    4: ("alibi_bias",),
    7: ("swiglu",),
    9: ("local_attention",),
}
DEVIATING = {4: ("alibi_slopes", "the slopes are 2^(−i/H)"), 5: ("rms_norm", "epsilon stands outside the square root")}


def list_blocks() -> dict[int, str]:
    """Return the code of each exercise, the first time that it stands in a document."""
    found: dict[int, str] = {}
    for path in sorted(Path(FOLDER).glob("*.txt")):
        _, *parts = EXERCISE.split(path.read_text(encoding="utf-8"))
        for number, body in zip(map(int, parts[::2]), parts[1::2], strict=True):
            if code := SOLUTION.search(body):
                found.setdefault(number, code[1].partition(END)[0].replace("\N{NO-BREAK SPACE}", " "))
    return found


@pytest.mark.parametrize("number", CONFORMING)
def test_code_that_is_right_conforms_unchanged(tmp_path: Path, number: int) -> None:
    (tmp_path / "exercise.py").write_text(list_blocks()[number])
    selected = " or ".join(f"{operation}.reference" for operation in CONFORMING[number])
    run = suite(tmp_path, "--backend=exercise.py", "--hypothesis-seed=1", "-k", selected)
    assert run.code == 0, run.text
    passed = {fact["operation"] for fact in run.facts if fact["status"] == "passed"}
    assert passed == {*CONFORMING[number]}


@pytest.mark.parametrize("number", DEVIATING)
def test_code_that_deviates_is_named_unchanged(tmp_path: Path, number: int) -> None:
    operation, sentence = DEVIATING[number]
    (tmp_path / "exercise.py").write_text(list_blocks()[number])
    run = suite(tmp_path, "--backend=exercise.py", "--hypothesis-seed=1", "-k", f"{operation}.reference")
    assert run.code == 1, run.text
    assert sentence in " ".join(run.text.split())
