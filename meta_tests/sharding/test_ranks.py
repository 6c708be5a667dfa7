"""Test backends on several ranks: what one rank does wrong is one verdict, and the other ranks are released."""

import re
from pathlib import Path

import pytest

from ..support.pytest_process import Run, complaints, suite, write

RANKS = """
import os
import time

import numpy as np

framework, dtypes, world_size = "numpy", ("float32",), (2, 3, 1)
shards = {"swiglu": {"w2": 1}, "softmax": {"x": -1, "result": -1}, "embedding": {"weight": (0, "zigzag")}}
RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def relu(x):
    return np.maximum(x, 0)


def sigmoid(x):
    if RANK == 1:
        raise ValueError("this rank has no device")
    time.sleep(1000)  # as in a collective operation


def silu(x):
    if RANK == 1:
        os._exit(3)
    time.sleep(1000)


def gelu(x, *, approximate="none"):
    if RANK == 1:
        raise NotImplementedError("not on this rank")
    return x


def linear(x, weight, bias=None):
    y = x.astype(np.float64) @ weight.T.astype(np.float64) + (0 if bias is None else bias)
    return (y + 0.5 * (RANK == SIZE - 1)).astype(x.dtype)


def rms_norm(x, weight, *, eps):
    return (x, x) if RANK else x


def glu(x, w1, w2, b1=None, b2=None):
    raise ValueError("on every rank")


def softmax(x, *, axis):
    return x[..., None] if RANK else x


def logsumexp(x, *, axis):
    time.sleep(1000)
"""

SAYS = {  # the operation, the law that fails, and what its message says
    "sigmoid.reference": (r"this rank has no device", r"rank +1 of 2", "the processes of all ranks are replaced"),
    "silu.reference": (r"the call ended its process, with exit status 3", r"rank +1 of 2"),
    "gelu.reference": (r"rank 1 refuses a call that other ranks do not \(not on this rank\)",),
    "linear.ranks": (r"elements are wrong|elements? is wrong|are wrong", r"rank +1 of 2"),
    "rms_norm.reference": ("rank 0 answers an array and rank 1 answers 2 results",),
    "glu.reference": ("the call raised ValueError: on every rank",),
    "softmax.reference": (r"the shards of a result have the shapes .*, which do not fit along axis -1",),
    "logsumexp.reference": ("no answer within 2 s", r"rank +0 of 2", r"rank 1 +line \d+ of ranks.py, in logsumexp"),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("ranks")
    write(folder, ranks=RANKS)
    laws = " or ".join(("relu.reference", "relu.ranks", *SAYS, "linear.reference"))
    return suite(folder, "--backend=ranks.py", "--time-limit=2", "-k", f"({laws}) and not vjp and not cross")


@pytest.mark.parametrize("law", SAYS)
def test_what_one_rank_does_wrong_is_one_verdict(law: str, run: Run) -> None:
    (fact,) = (fact for fact in run.facts if fact["id"] == law)
    assert fact["status"] == "failed"
    message = next(part for part in re.split(r"\ncause \d+: ", run.text) if f"breaks {law}" in part or f"{law}:" in part)
    for pattern in SAYS[law]:
        assert re.search(pattern, message), message


def test_a_rank_that_is_right_is_no_failure(run: Run) -> None:
    assert {run.statuses[f"{law} ranks float32"] for law in ("relu.reference", "relu.ranks", "linear.reference")} == {"passed"}


def test_the_report_says_on_how_many_ranks(tmp_path: Path) -> None:
    write(tmp_path, ranks=RANKS)
    run = suite(tmp_path, "--backend=ranks.py", "--world-size=3", "-k", "linear.ranks")
    assert "on 3 ranks" in run.text
    assert re.search(r"rank +2 of 3", run.text)
    assert "--world-size=3" in run.text[run.text.index("again:") :].partition("\n")[0]


def test_a_backend_that_cannot_be_loaded_is_refused(tmp_path: Path) -> None:
    head = "framework, world_size = 'numpy', 2\ndef relu(x):\n    return x\n"
    write(
        tmp_path,
        raising=f"{head}shards = {{}}\nimport os\nif os.environ['RANK'] == '1':\n    raise ValueError('no net')\n",
        argument=f"{head}shards = {{'relu': {{'weight': 0}}}}\n",
    )
    raising, argument, size = complaints(tmp_path, "--backend=raising.py", "--backend=argument.py", "--world-size=0")
    assert re.match(r"--backend=raising.py: importing it raised ValueError: no net \(line 7 of .*\)", raising)
    assert argument == "--backend=argument.py: its shards of relu name 'weight'; there are x, result"
    assert size == "--world-size=0: give the number of ranks, from 1 to 64"
