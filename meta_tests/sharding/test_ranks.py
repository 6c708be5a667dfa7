"""Test backends on several ranks: what one rank does wrong is one verdict, and the other ranks are released."""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spec_tests.implementation.backend import Backend
from spec_tests.implementation.guard import Fault
from spec_tests.implementation.lookup import BackendError
from spec_tests.processes.activity import Activity
from spec_tests.processes.forks import ForkedProcess, find_modules
from spec_tests.sharding.sharded_backend import ShardedBackend, load_sharded
from spec_tests.specification.registry import operations

from ..support.pytest_process import complaints, suite, write

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


def layer_norm(x):
    return (x, x) if RANK else x


def relu_vjp(x):
    raise ValueError("on every rank")


def softmax(x, *, axis):
    return x[..., None] if RANK else x


def logsumexp(x, *, axis):
    time.sleep(1000)


def log_softmax(x, *, axis):
    if RANK == 0:
        time.sleep(1000)  # as in a collective operation that the other rank leaves out
    return x
"""

APART = """
import os

import numpy as np

framework, dtypes, world_size = "numpy", ("float32",), 2
shards = {"relu": {"x": None}}
FACTOR = np.float32(1 + int(os.environ["RANK"]))


def relu(x):
    return FACTOR * np.maximum(x, 0)


def relu_vjp(cotangent, x):
    return (FACTOR * np.where(x > 0, cotangent, np.float32(0)),)
"""  # rank 0 is right, and rank 1 doubles what it answers

SAYS = {  # what a call of the operation raises, and what the facts beside it say
    "sigmoid": ("the call raised ValueError: this rank has no device", r"rank: 1 of 2\n(.*\n)*therefore: the processes of all"),
    "silu": ("the call ended its process, with exit status 3", "rank: 1 of 2"),
    "gelu": (r"rank 1 refuses a call that other ranks do not \(not on this rank\)", "therefore: the processes of all"),
    "logsumexp": (
        "no answer within 2 s",
        r"rank: 0 of 2\nwhere: line 52 of ranks.py.*\nrank 1: line 52 of ranks.py, in logsumexp",
    ),
    "log_softmax": (
        "no answer within 2 s .*: rank 1 returned, and rank 0 did not",
        "where: line 57 of ranks.py, in log_softmax, which rank 0 did not leave",
    ),
    "layer_norm": ("rank 0 answers an array and rank 1 answers 2 results", ""),
    "relu_vjp": ("the call raised ValueError: on every rank", ""),
    "softmax": (r"the shards of a result have the shapes \(2,\), \(1, 1\), which do not fit along axis -1", ""),
}


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backend]:
    folder = tmp_path_factory.mktemp("ranks")
    write(folder, ranks=RANKS)
    loaded = load_sharded("ranks.py", folder, ("relu", "linear", *SAYS), ("relu_vjp",), 2)
    yield loaded
    loaded.framework.connection.discard_process(Fault(""))


def call(backend: Backend, operation: str, **keywords: Any) -> Any:
    """Call a function of the backend on all ranks."""
    framework, x = backend.framework, backend.framework.native(np.array([1.0, -2.0, 3.0]), "float32")
    return framework.run_guarded(lambda: backend.function(operation)(x, **keywords), 2.0)


@pytest.mark.parametrize("operation", SAYS)
def test_a_rank_that_fails_is_one_fault_and_the_next_call_is_answered(operation: str, backend: Backend) -> None:
    what, beside = SAYS[operation]
    keywords = {"softmax": {"axis": -1}, "logsumexp": {"axis": -1}, "log_softmax": {"axis": -1}}.get(operation, {})
    with pytest.raises(Fault) as raised:
        call(backend, operation, **keywords)
    assert re.match(what, raised.value.what)
    assert re.search(beside, "".join(f"{label}: {text}\n" for label, text in raised.value.facts))
    assert list(call(backend, "relu").values) == [1, 0, 3]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each rank is started anew")
def test_ranks_that_are_replaced_are_forked_from_the_same_process(backend: Backend) -> None:
    """Which has imported the framework: to import it again for each failure took 70 times the seconds of one process."""
    assert isinstance(backend, ShardedBackend)
    ranks = backend.framework.ranks
    call(backend, "relu")
    server, generation = ranks.fork_server, ranks.generation
    first = [connection.process.child.pid for connection in ranks.connections if connection.process]
    with pytest.raises(Fault, match="this rank has no device"):
        call(backend, "sigmoid")
    assert list(call(backend, "relu").values) == [1, 0, 3]
    assert ranks.generation == generation + 1
    assert server is not None
    assert ranks.fork_server is server
    second = [connection.process.child for connection in ranks.connections if connection.process]
    assert not {child.pid for child in second} & {*first}
    assert all(isinstance(child, ForkedProcess) and child.parent == server.child.pid for child in second)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each rank is started anew")
def test_a_lost_fork_server_is_replaced(backend: Backend) -> None:
    assert isinstance(backend, ShardedBackend)
    ranks = backend.framework.ranks
    call(backend, "relu")
    assert ranks.fork_server is not None
    lost = ranks.fork_server.child
    lost.kill()
    lost.wait()
    with pytest.raises(Fault):
        call(backend, "relu")
    assert list(call(backend, "relu").values) == [1, 0, 3]
    assert ranks.fork_server.child is not lost


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ("import torch.distributed as dist\nimport os\nframework = 'torch'\n", ["torch", "torch.distributed"]),
        ("framework, device = 'torch', 'cpu'\n", ["torch"]),
        ("framework, device = 'torch', 'cuda'\n", None),
        ("framework = 'jax'\n", None),
        ("import torch\nframework = torch.__name__\n", None),
    ],
)
def test_ranks_are_forked_where_the_framework_and_the_device_allow_it(
    text: str, modules: list[str] | None, tmp_path: Path
) -> None:
    write(tmp_path, mine=text)
    assert find_modules("mine.py", tmp_path) == (modules if sys.platform == "linux" else None)


def test_a_rank_that_waits_is_told_from_one_that_works() -> None:
    waiting = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    working = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        _wait_until_it_sleeps(waiting.pid)
        alone, together = Activity(1000.0), Activity(1000.0)
        assert not alone.has_ended([waiting.pid])  # there is nothing to compare with
        assert not together.has_ended([waiting.pid, working.pid])
        time.sleep(0.2)
        assert alone.has_ended([waiting.pid]) == (sys.platform == "linux")
        assert not together.has_ended([waiting.pid, working.pid])
        assert Activity(0.0).has_ended([working.pid])
    finally:
        waiting.kill()
        working.kill()
        waiting.wait()
        working.wait()


def _wait_until_it_sleeps(process: int) -> None:
    seen = Activity(1000.0)
    for _ in range(100):
        if seen.has_ended([process]):
            return
        time.sleep(0.1)


def test_each_law_about_ranks_can_fail(tmp_path: Path) -> None:
    write(tmp_path, apart=APART)
    words = ("--effort=default", "--hypothesis-seed=1", "-k", "relu.rank or relu_vjp.rank")
    run = suite(tmp_path, "--backend=apart.py", "--world-size=2", *words)
    found = {fact["id"]: fact["status"] for fact in run.facts}
    expected = {"ranks": "failed", "rank_identical": "not held"}
    assert found == {f"{name}.{law}": status for name in ("relu", "relu_vjp") for law, status in expected.items()}


def test_the_report_says_on_how_many_ranks(tmp_path: Path) -> None:
    write(tmp_path, ranks=RANKS)
    run = suite(tmp_path, "--backend=ranks.py", "--world-size=3", "-k", "linear.ranks")
    assert "on 3 ranks" in run.text
    assert re.search(r"rank +2 of 3", run.text)
    assert "--world-size=3" in run.text[run.text.index("again:") :].partition("\n")[0]


def test_the_processes_of_a_backend_that_is_refused_are_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stated = "framework, world_size, shards, domain = 'numpy', 2, {}, {'swish': {}}\n"
    write(tmp_path, mine=f"{stated}def relu(x):\n    return x\n")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(BackendError, match="'swish', which is no operation") as refusal:
        load_sharded("mine.py", tmp_path, operations(), (), 2)
    assert refusal.tb  # whose frames hold the ranks, so that their folder is not removed by chance
    assert list(tmp_path.glob("spec_tests-ranks-*")) == []


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
