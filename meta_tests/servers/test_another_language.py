"""Test a server in a language that examples/ does not have, written from the page of the protocol and `spec-tests describe`."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..support.paths import BACKENDS, DOCS
from ..support.pytest_process import suite

pytestmark = pytest.mark.rotating
SERVER = BACKENDS / "servers" / "server.pl"
EPS_INSIDE = "sqrt($square + $keywords->{eps})"


@pytest.fixture
def command() -> str:
    if shutil.which("perl") is None:
        pytest.skip("perl is not installed")
    return shlex.join(["perl", str(SERVER)])


def test_it_answers_the_published_messages(command: str) -> None:
    words = [sys.executable, DOCS / "protocol" / "replay.py", *shlex.split(command)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("40 requests answered as the protocol says\n", "")


def test_it_conforms_and_a_bug_in_it_is_caught(command: str, tmp_path: Path) -> None:
    right = suite(tmp_path, f"--backend=process:{command}", "--effort=smoke", "--require=relu,rms_norm", "-k", "relu or rms_norm")
    assert right.code == 0
    source = SERVER.read_text()
    assert EPS_INSIDE in source
    (tmp_path / "wrong.pl").write_text(source.replace(EPS_INSIDE, "(sqrt($square) + $keywords->{eps})"))
    wrong = suite(tmp_path, "--backend=process:perl wrong.pl", "--effort=smoke", "-k", "rms_norm")
    assert wrong.code == 1
    assert "rms_norm/eps-outside-sqrt" in wrong.text
