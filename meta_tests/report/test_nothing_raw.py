"""Tests that nothing of a backend's text reaches a terminal or a CI log as a command: commands and escapes are broken."""

import re
from pathlib import Path

import pytest

from spec_tests.implementation.printable import printable, printable_line

from ..support.pytest_process import NUMPY, RELU, suite, write

COMMANDS = ("::error::forged", "  ::set-output name=x::y", "##vso[task.complete]", "##teamcity[testFinished]", "a ##[error]b")
ACTS = re.compile(r"^\s*::|##\w*\[|\x1b\[2J", re.MULTILINE)  # what would be read as a command, or clear the terminal
HOSTILE = r"\n::error::forged\n##vso[task.complete result=Succeeded]\n##teamcity[x]\x1b[2J"


@pytest.mark.parametrize("text", COMMANDS)
def test_a_command_is_broken(text: str) -> None:
    assert ACTS.search(text)
    assert not ACTS.search(printable(f"before\n{text}\nafter"))
    assert "\n" not in printable_line(f"before\n{text}\nafter")


def test_other_text_stays_as_it_is() -> None:
    for text in ("x[::2]", "spec_tests/test_relu.py::test_x[a]", "# a comment", "## a heading", "std::vector"):
        assert printable(text) == text


RAISING = "\n\ndef relu(x):\n    raise ValueError(TEXT)\n"
PRINTING = "\n\nimport os\n\ndef relu(x):\n    print(TEXT)\n    os.write(2, TEXT.encode())\n    return x\n"
REFUSING = "\n\ndef relu(x):\n    raise NotImplementedError(TEXT)\n"
NAMED = f"\n\nname = TEXT\nversion = TEXT\n{RELU}"
AT_IMPORT = f"\n\nimport os\n\nprint(TEXT)\nos.write(2, TEXT.encode())\n{RELU}"
FAILING_AT_IMPORT = "\n\nraise ValueError(TEXT)\n"
DESTROYING = """

class Noisy:
    def __del__(self):
        raise ValueError(TEXT)


def relu(x):
    Noisy()
    return np.maximum(x, 0)
"""
IN_A_THREAD = """

import threading, warnings


def shout():
    warnings.warn(TEXT)
    raise ValueError(TEXT)


def relu(x):
    threading.Thread(target=shout).start()
    return np.maximum(x, 0)
"""
BODIES = {
    "destroying": DESTROYING,
    "in a thread": IN_A_THREAD,
    "raising": RAISING,
    "printing": PRINTING,
    "refusing": REFUSING,
    "named": NAMED,
    "at import": AT_IMPORT,
    "failing at import": FAILING_AT_IMPORT,
}


@pytest.mark.rotating
@pytest.mark.parametrize("more", [(), ("--isolate",)], ids=["without", "isolated"])
@pytest.mark.parametrize("name", BODIES)
def test_nothing_raw_is_printed(name: str, more: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + f"\nTEXT = '{HOSTILE}'\n" + BODIES[name])
    run = suite(tmp_path, "--backend=mine.py", "-k", "relu.reference", "-rA", *more)
    assert run.code == {"raising": 1, "printing": 1, "refusing": 5, "failing at import": 4}.get(name, 0), run.text
    its_process_prints = bool(more) and name in ("destroying", "in a thread")  # which is shown as all that it prints
    assert "Traceback" not in run.text or name == "failing at import" or its_process_prints
    assert not ACTS.search(run.text), run.text
    if name not in ("named", "destroying"):  # a name that is no short line of text states nothing; Python drops the second
        assert "forged" in run.text  # it is shown, and does nothing
