"""Write the five verdicts of the guide to reading a verdict: python docs/five_verdicts.py

Each is a backend of a few lines, the command that tests it, what the command prints, and what the output lets one conclude.
The backends are run, and their outputs replace those between the markers in docs/guides/verdict.md. A test holds the page to it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "guides" / "verdict.md"
BEGIN, END = "<!-- five verdicts: written by docs/five_verdicts.py -->", "<!-- end of five verdicts -->"
COLUMNS = 100  # characters of the terminal's lines
RUN = """
import sys, pytest
sys.exit(pytest.main(sys.argv[1:]))
"""
NUMPY = 'import numpy as np\n\nframework = "numpy"\ndtypes = ("float32", "float16")\n'


class Verdict(NamedTuple):
    """A backend, the law that is tried, and what its output lets a reader conclude."""

    title: str
    name: str
    law: str
    code: str
    conclusion: str


VERDICTS = (
    Verdict(
        "The equation is wrong",
        "last_axis",
        "softmax.reference",
        """
def softmax(x, *, axis):
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype(x.dtype)
""",
        """
`matches` names the bug in words: the axis is ignored.
The line `1.` counts 2 failed tests, so this one cause explains the failures in both dtypes, and there is one thing to mend.
""",
    ),
    Verdict(
        "The equation is right, the arithmetic is not",
        "rounded_early",
        "rms_norm.reference",
        """
def rms_norm(x, weight, *, eps):
    h = x.astype(np.float64)
    return (h / np.sqrt(np.mean(h * h, -1, keepdims=True) + eps)).astype(x.dtype) * weight
""",
        """
`float32` conforms and `float16` fails, so the bug concerns float16 alone.
`matches` says where: a result is rounded to float16 before `weight` multiplies it, and the product is rounded once more.
""",
    ),
    Verdict(
        "It stops with an exception",
        "whole_blocks",
        "relu.reference",
        """
def relu(x):
    if x.ndim and x.shape[-1] % 8:
        raise ValueError("the last axis must be a multiple of 8")
    return np.maximum(x, 0)
""",
        """
No answer is wrong: the function refuses sizes that no one has excluded.
`where` says which.
If the restriction is meant, the line after `if meant` goes into the backend's file, and such sizes are not drawn any more.
""",
    ),
    Verdict(
        "An earlier call changes a later one",
        "kept_by_shape",
        "softmax.reference",
        """
kept = {}


def softmax(x, *, axis):
    e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    return kept.setdefault((x.dtype, x.shape), (e / e.sum(axis, keepdims=True)).astype(x.dtype))
""",
        """
No equation explains the answers.
The script has two calls, and says that the second one gets the answer of the first: the backend keeps something by shape.
""",
    ),
    Verdict(
        "Nothing is wrong",
        "right",
        "rms_norm.reference",
        """
def rms_norm(x, weight, *, eps):
    h = x.astype(np.float64)
    return (h / np.sqrt(np.mean(h * h, -1, keepdims=True) + eps) * weight).astype(x.dtype)
""",
        """
Every answer was within the bound, in both dtypes, and no intermediate result was rounded to 16 bits (`fused`).
Only one law was tried here; without `-k` the run tries all of them.
`next` says how to try more examples.
""",
    ),
)


def run(verdict: Verdict, folder: Path) -> tuple[str, str]:
    """Run the command on the backend in a folder. Return the command and what it prints, from the first cause on."""
    (folder / f"{verdict.name}.py").write_text(format_code(verdict), encoding="utf-8")
    command = f"pytest --pyargs spec_tests --backend={verdict.name}.py -k {verdict.law}"
    drawn = ("--hypothesis-profile=default", "--hypothesis-seed=1")  # with CI set, Hypothesis's profile ignores the seed
    plugin = ("-p", "spec_tests.plugin", "-p", "no:cacheprovider", *drawn, "--color=no", "--disable-warnings")
    words = (sys.executable, "-c", RUN, *plugin, *shlex.split(command)[1:])
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "GITHUB_"))}
    settings = plain | {"PYTHONPATH": str(ROOT), "COLUMNS": str(COLUMNS)}
    done = subprocess.run(words, cwd=folder, env=settings, capture_output=True, text=True, check=False)
    return command, shorten(done.stdout.replace(str(folder.resolve()), "…").replace(str(folder), "…"))


def format_code(verdict: Verdict) -> str:
    """Return the file of a backend."""
    code = verdict.code.strip()
    blank = "\n\n" if code.startswith("def ") else ""
    return f"{NUMPY}{blank}{code}\n"


def shorten(text: str) -> str:
    """Return the output from the first cause or the table on, without the lines that count tests."""
    start = re.search(r"^cause 1: |^=+ \w+: precision class", text, re.MULTILINE)
    if start is None:
        raise RuntimeError(f"the run printed no verdict:\n{text}")
    lines = [line.rstrip() for line in text[start.start() :].splitlines()]
    lines = [line for line in lines if not re.match(r"=+ .* in [\d.]+s|(\S+ \S*)? *\[ *\d+%\]$", line)]
    return re.sub(r"\n\n+", "\n\n", "\n".join(lines)).rstrip()


def write_section() -> str:
    """Run the five backends, and return the section of the page."""
    parts = [BEGIN]
    for number, verdict in enumerate(VERDICTS, 1):
        with tempfile.TemporaryDirectory() as folder:
            command, printed = run(verdict, Path(folder))
        parts += [f"### {number}. {verdict.title}", f"```python\n# {verdict.name}.py\n{format_code(verdict)}```"]
        parts += [f"```console\n$ {command}\n{printed}\n```", verdict.conclusion.strip()]
    return "\n\n".join([*parts, END])


def read_section() -> str:
    """Return the section as it is on the page."""
    _, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return begin + rest.partition(END)[0] + END


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text.replace(read_section(), write_section()), encoding="utf-8")
