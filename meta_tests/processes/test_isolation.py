"""The backend in a process of its own: it sees its arguments and nothing of the judge, and the verdicts are the same."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

import numpy as np
import pytest

from spec_tests.implementation.guard import Fault
from spec_tests.implementation.lookup import BackendError
from spec_tests.processes import server_process
from spec_tests.processes.isolated_backend import load_isolated
from spec_tests.specification.registry import gradients, operations

from ..support.paths import ROOT
from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, SOFTMAX, complaints, environment, suite, write


def load(folder: Path, body: str, head: str = NUMPY):
    write(folder, mine=head + body)
    return load_isolated("mine.py", folder, operations(), gradients())


def call_function(backend, name, x, **keywords):
    native = backend.framework.native(np.asarray(x), "float32")
    return backend.framework.numpy(backend.run_guarded(lambda: backend.function(name)(native, **keywords), name))


# --- what it knows ----------------------------------------------------------------------------------------------------

LISTS_WHAT_IT_CAN_SEE = """
import os, sys

def relu(x):
    libraries = [name for name in sys.modules if name.startswith(("reference_numpy", "hypothesis", "pytest"))]
    ours = {name.split(".")[1] for name in sys.modules if name.startswith("spec_tests.")}
    judges = sorted(ours - {"implementation", "importers", "processes", "specification"})
    frame, callers = sys._getframe(), []
    while frame := frame.f_back:
        callers.append(frame.f_code.co_filename)
    print("knows", libraries + judges, sorted({os.path.basename(file) for file in callers}))
    return np.maximum(x, 0)
"""


def test_it_knows_neither_the_equations_nor_who_judges(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    backend = load(tmp_path, LISTS_WHAT_IT_CAN_SEE)
    assert call_function(backend, "relu", [-1, 2]).tolist() == [0, 2]
    printed = capfd.readouterr().out
    assert printed == "knows [] ['<string>', 'framework.py', 'guard.py', 'python_server.py', 'ways_of_calling.py']\n"
    assert not backend.imports_oracle


def test_nothing_of_it_is_loaded_here(tmp_path: Path) -> None:
    before = set(sys.modules)
    load(tmp_path, "\n\nimport sys\nsys.modules['loaded_with_mine'] = sys\n" + RELU)
    assert not any("mine" in name for name in set(sys.modules) - before)


def test_what_has_the_oracle_is_told(tmp_path: Path) -> None:
    body = "\n\nfrom reference_numpy.relu import relu\n"
    write(tmp_path, mine=NUMPY + body)
    for options in ((), ("--isolate",)):
        run = suite(tmp_path, "--backend=mine.py", "-k", "relu.reference", *options)
        assert run.code == 0
        assert "it has imported the oracle (reference_numpy)" in run.text
        assert all(fact["oracle"] for fact in run.facts if fact["operation"] == "relu")


# --- the same verdicts ------------------------------------------------------------------------------------------------


@pytest.mark.rotating
@pytest.mark.parametrize("name", ["mine.py", "torch-cpu"])
def test_the_verdicts_are_those_of_one_process(name: str, tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE + SOFTMAX + RELU)
    chosen = "rms_norm or softmax" if name == "mine.py" else "silu or embedding or sliding_window"
    if name == "torch-cpu":
        pytest.importorskip("torch")
    args = (f"--backend={name}", "--dtype=float32", "--hypothesis-seed=3", "-k", chosen)
    in_process, isolated = suite(tmp_path, *args), suite(tmp_path, *args, "--isolate")
    assert in_process.code == isolated.code
    assert in_process.statuses == isolated.statuses
    assert len(in_process.facts) > 30
    compared = ("examples", "class", "worst", "median", "refused", "example", "reason")
    for fact, isolated_fact in zip(in_process.facts, isolated.facts, strict=True):
        assert [fact[key] for key in compared] == [isolated_fact[key] for key in compared]


def test_batches_of_many_entries_are_sent(tmp_path: Path) -> None:
    run = suite(tmp_path, "--backend=numpy-cpu", "--isolate", "--effort=default", "-k", "many_entries and (rms_norm or softmax)")
    assert run.code == 0
    assert set(run.statuses.values()) == {"passed"}


@pytest.mark.rotating
def test_an_adapters_file_is_asked_in_its_own_terms(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    write(tmp_path, adapters="import torch\n\ndef run_softmax(in_features, dim):\n    return torch.exp(in_features) * 2\n")
    run = suite(tmp_path, "--backend=adapters.py", "--isolate", "-k", "softmax.reference")
    assert run.code == 1
    assert "print(backend.run_softmax(in_features=torch.tensor(" in run.text


@pytest.mark.rotating
def test_a_class_and_a_module_are_loaded_there_too(tmp_path: Path) -> None:
    (folder := tmp_path / "package").mkdir()
    class_text = "\n\nclass Mine:\n    framework = 'numpy'\n    relu = staticmethod(relu)\n    dtypes = ('float32',)\n"
    write(folder, mine=NUMPY + RELU + class_text)
    names = {
        "package.mine": "package.mine",
        "package.mine:Mine": "package.mine:Mine",
        "package/mine.py:Mine": "mine:Mine",
    }
    words = (f"--backend={text}" for text in names)
    run = suite(tmp_path, *words, "--isolate", "-k", "relu.reference", env=environment(ROOT, tmp_path))
    assert run.code == 0, run.text
    assert run.statuses == {f"relu.reference {name} float32": "passed" for name in names.values()}


@pytest.mark.rotating
def test_what_is_refused_is_refused_alike(tmp_path: Path) -> None:
    bodies = {"empty": "", "raises": "raise ValueError('no')", "domain": "domain = {'relu': {'sizes': (1,)}}" + RELU}
    write(tmp_path, **{name: NUMPY + "\n" + body for name, body in bodies.items()})
    backends = [f"--backend={name}.py" for name in bodies]
    in_process, isolated = complaints(tmp_path, *backends), complaints(tmp_path, *((name, "--isolate") for name in backends))
    assert in_process == isolated
    assert len({*in_process}) == len(bodies)


# --- life and death ---------------------------------------------------------------------------------------------------


VANISHES = """
def __getattr__(name):
    if name == "relu" and len(asked) < 10:
        asked.append(name)
        return lambda x: x
    raise AttributeError(name)


asked = []
"""


def test_a_function_that_has_gone_is_a_fault_of_the_call(tmp_path: Path) -> None:
    backend = load(tmp_path, VANISHES)
    with pytest.raises(Fault, match="relu was there when the backend was loaded, and is not there now"):
        deque((call_function(backend, "relu", [1]) for _ in range(10)), maxlen=0)


def test_a_process_that_is_lost_is_replaced(tmp_path: Path) -> None:
    backend = load(tmp_path, RELU + "\n\nimport os\n\ndef sigmoid(x):\n    os._exit(5)\n")
    with pytest.raises(Exception, match="the call ended its process, with exit status 5"):
        call_function(backend, "sigmoid", [1])
    assert call_function(backend, "relu", [-1, 3]).tolist() == [0, 3]


HANGS = {
    "sleeps": "import time\ntime.sleep(300)\n",
    "waits for a process that sleeps": "import subprocess\nsubprocess.run(['sleep', '300'])\n",
    "waits for a lock": "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n",
}


@pytest.mark.parametrize("how", HANGS)
def test_a_hang_at_import_ends(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process, "IDLE_SECONDS", 3.0)
    monkeypatch.setattr(server_process, "LOOK_SECONDS", 0.5)
    before = time.monotonic()
    with pytest.raises(BackendError, match=r"while it was imported, its process did nothing for 3 s, and was ended"):
        load(tmp_path, HANGS[how] + RELU)
    assert time.monotonic() - before < 120  # of 300; a busy machine is slow


def test_an_import_that_works_is_no_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither is one that has another process work."""
    monkeypatch.setattr(server_process, "IDLE_SECONDS", 1.0)
    monkeypatch.setattr(server_process, "LOOK_SECONDS", 0.2)
    works = "import time\nend = time.process_time() + 2\nwhile time.process_time() < end: pass\n"
    backend = load(tmp_path, f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {works!r}])\n{works}{RELU}")
    assert call_function(backend, "relu", [-1, 3]).tolist() == [0, 3]


def test_a_process_does_not_outlive_the_run(tmp_path: Path) -> None:
    """A run that is killed cannot clean up. The system then ends the process of the backend, even in the middle of a call."""
    sleeps = "\n\nimport os, time\n\ndef sigmoid(x):\n    open('pid', 'w').write(str(os.getpid()))\n    time.sleep(300)\n"
    write(tmp_path, mine=NUMPY + RELU + sleeps)
    options = ("-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--pyargs", "spec_tests", "--effort=smoke", "--isolate")
    command = [sys.executable, "-m", "pytest", *options, "--backend=mine.py", "-k", "sigmoid.reference"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(ROOT), stdout=subprocess.PIPE) as run:
        wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        run.kill()
    number = int((tmp_path / "pid").read_text())
    wait_for(lambda: not _is_running(number))


def wait_for(condition) -> None:
    deadline = time.monotonic() + 300  # a safety net
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _is_running(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.rotating
def test_a_signal_ends_a_run_in_the_middle_of_a_call(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU + "\n\nimport time\n\ndef sigmoid(x):\n    open('pid', 'w')\n    time.sleep(300)\n")
    options = ("-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--pyargs", "spec_tests", "--effort=smoke", "--isolate")
    command = [sys.executable, "-m", "pytest", *options, "--backend=mine.py", "--report=out", "-k", "reference"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(ROOT, GITHUB_STEP_SUMMARY=""), stdout=subprocess.PIPE) as run:
        wait_for(lambda: (tmp_path / "pid").exists())
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=300)
    assert run.returncode == 2
    text = (tmp_path / "out" / "report.jsonl").read_text()
    assert '"reason": "interrupted"' in text
    assert '"id": "relu.reference"' in text


@pytest.mark.rotating
def test_memory_is_limited(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + "\n\ndef relu(x):\n    return np.maximum(x, np.zeros(1 << 28)[0].astype('float32'))\n")
    run = suite(tmp_path, "--backend=mine.py", "--isolate", "--memory-limit=1GiB", "-k", "relu.reference")
    assert "the call raised MemoryError: Unable to allocate 2.00 GiB" in run.text
    assert suite(tmp_path, "--backend=mine.py", "--isolate", "--memory-limit=8GiB", "-k", "relu.reference").code == 0


LIMITS = {
    "--time-limit=soon": "give a number of seconds",
    "--time-limit=-1": "give a number of seconds",
    "--memory-limit=4GiB": "add --isolate",
    "--memory-limit=much": "give a number and one of MiB, GiB",
}


def test_a_limit_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    for complaint, (given, sentence) in zip(complaints(tmp_path, *LIMITS), LIMITS.items(), strict=True):
        assert complaint.startswith(f"{given}: ")
        assert sentence in complaint


@pytest.mark.rotating
def test_each_late_answer_halves_the_patience(tmp_path: Path) -> None:
    """The search for the cause of the first one waits for a further call as well, for 2 s. The least patience is 1 s."""
    write(tmp_path, mine=NUMPY + "\n\nimport time\n\ndef relu(x):\n    time.sleep(300)\n")
    laws = "relu.reference or relu.repeatable or relu.inputs_unchanged"
    suite(tmp_path, "--backend=mine.py", "--time-limit=4", "--effort=default", "-k", laws, "--report=out")
    records = map(json.loads, (tmp_path / "out" / "report.jsonl").read_text().splitlines())
    verdicts = [record for record in records if record["record"] == "verdict"]
    assert [verdict["reason"] for verdict in verdicts] == [f"no answer within {limit} s (--time-limit)" for limit in (4, 1, 1)]
    facts = [dict(verdict["failure"]["facts"]) for verdict in verdicts]
    assert [fact.get("before", "").partition(";")[0] for fact in facts] == [
        "",
        *["relu had no answer within 4 s, so that others are not waited for as long"] * 2,
    ]


def test_a_limit_may_be_less_than_the_least_patience(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + "\n\nimport time\n\ndef relu(x):\n    time.sleep(300)\n")
    run = suite(tmp_path, "--backend=mine.py", "--time-limit=0.25", "-k", "relu.reference or relu.repeatable")
    assert [fact["reason"] for fact in run.facts] == ["no answer within 0.25 s (--time-limit)"] * 2


# --- the environment --------------------------------------------------------------------------------------------------

NEEDS_ENVIRONMENT = """
import os

environment = {"WIDGETS": "three", "OMP_NUM_THREADS": "1"}
framework = "numpy"
dtypes = ("float32",)
set_before = os.environ["WIDGETS"]

def relu(x):
    return x * (x > 0)
"""


@pytest.mark.rotating
def test_the_environment_is_set_before_anything_is_imported(tmp_path: Path) -> None:
    write(tmp_path, mine=NEEDS_ENVIRONMENT)
    assert suite(tmp_path, "--backend=mine.py", "--isolate", "-k", "relu.reference").code == 0
    other_values = environment(ROOT, OMP_NUM_THREADS="7")
    complaint = suite(tmp_path, "--backend=mine.py", "-k", "relu.reference", env=other_values).complaint
    assert "it sets WIDGETS, OMP_NUM_THREADS before numpy is imported, which has happened here; add --isolate" in complaint
    stated_values = environment(ROOT, WIDGETS="three", OMP_NUM_THREADS="1")
    assert suite(tmp_path, "--backend=mine.py", "-k", "relu.reference", env=stated_values).code == 0
    write(tmp_path, mine=NEEDS_ENVIRONMENT.replace('"three"', "os.sep"))
    assert "write a plain dict of strings" in suite(tmp_path, "--backend=mine.py", "--isolate").complaint


def test_each_backend_has_an_environment_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, mine=NEEDS_ENVIRONMENT, other=NEEDS_ENVIRONMENT.replace("three", "four"))
    run = suite(tmp_path, "--backend=mine.py", "--backend=other.py", "--isolate", "-k", "relu.reference")
    assert run.code == 0
    assert run.count("passed") == 2
    assert "WIDGETS" not in os.environ
