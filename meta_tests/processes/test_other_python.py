"""Test --python: a backend in another Python than the suite's, with another NumPy, with a framework of its own, or with none."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from spec_tests.importers import cs336

from ..support.paths import BACKENDS, ROOT
from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, complaints, environment, suite, write

SERVER = ROOT / "spec_tests" / "processes" / "standalone_server.py"
OTHER_PYTHON = f"--python={sys.executable}"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment that has nothing but the standard library."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=True)
    return folder / "bin" / "python"


# --- the verdicts -----------------------------------------------------------------------------------------------------


@pytest.mark.rotating
def test_the_verdicts_are_those_of_one_process(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE + RELU)
    args = ("--backend=mine.py", "--dtype=float32", "--hypothesis-seed=3", "-k", "rms_norm.reference or relu.")
    in_process, other = suite(tmp_path, *args), suite(tmp_path, *args, OTHER_PYTHON)
    assert in_process.code == other.code == 1
    assert in_process.statuses == other.statuses
    assert len(other.facts) > 10
    for fact, expected in zip(other.facts, in_process.facts, strict=True):
        compared = ("class", "worst", "median", "refused", "example")
        assert [fact[key] for key in compared] == [expected[key] for key in compared], fact["id"]
    assert f"--python={sys.executable} --dtype=float32" in other.text  # the command that shows a failure again has it


@pytest.mark.rotating
def test_an_adapters_file_is_judged_without_its_conftest(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    folder = shutil.copytree(BACKENDS / "cs336_student", tmp_path / "student")
    for place in (folder, folder / "tests"):
        (place / "conftest.py").write_text("raise RuntimeError('of another environment')\n")
    laws = "(rms_norm or swiglu or softmax_vjp or gradient_clipping or adamw_steps) and (reference or inputs_unchanged)"
    run = suite(folder, "--backend=tests/adapters.py", OTHER_PYTHON, "--effort=smoke", "-k", laws)
    assert run.code == 0, run.text
    passed = {fact["operation"] for fact in run.facts if fact["status"] == "passed"}
    assert passed >= {"rms_norm", "swiglu", "softmax_vjp", "gradient_clipping", "adamw_steps"}


ALIASES = """
def rmsnorm(x, gamma, eps):
    return (x / np.sqrt(np.mean(x.astype(np.float64) ** 2, axis=-1, keepdims=True) + eps) * gamma).astype(x.dtype)


def silu(x):
    raise NotImplementedError("not yet")


def sigmoid(x):
    raise ValueError("a bug of its own")


class Kernels:
    framework = "numpy"
    dtypes = ("float64",)

    def relu(self, x):
        return np.maximum(x, 0)
"""


@pytest.mark.rotating
def test_names_of_the_field_refusals_and_exceptions(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + ALIASES)
    laws = "rms_norm.reference or silu.reference or sigmoid.reference"
    run = suite(tmp_path, "--backend=mine.py", OTHER_PYTHON, "--effort=smoke", "--dtype=float32", "-k", laws)
    statuses = {fact["operation"]: (fact["status"], fact["reason"]) for fact in run.facts}
    assert statuses["rms_norm"][0] == "passed"
    assert "rms_norm: rmsnorm for rms_norm" in run.text
    assert statuses["silu"] == ("skipped", "Skipped: not implemented in any variant tried: not yet")
    assert statuses["sigmoid"][1].startswith("the call raised ValueError: a bug of its own")
    assert "mine.py:" in run.text
    assert suite(tmp_path, "--backend=mine.py:Kernels", OTHER_PYTHON, "-k", "relu.reference").code == 0


STUB = """
import ctypes, struct

class dtype:
    def __init__(self, name, letter, is_floating_point=True):
        self.name, self.letter, self.is_floating_point = name, letter, is_floating_point

    def __repr__(self):
        return f"torch.{self.name}"

float64, float32 = dtype("float64", "d"), dtype("float32", "f")
__version__ = "0.stub"

class Tensor:
    device = "cpu"

    def __init__(self, data, shape, dtype):
        self.data, self.shape, self.dtype = ctypes.create_string_buffer(data, len(data)), tuple(shape), dtype

    def reshape(self, *shape):
        shape = shape[0] if isinstance(shape[0], (list, tuple)) else shape
        return Tensor(self.data.raw, (self.numel(),) if shape == (-1,) else shape, self.dtype)

    def numel(self):
        return len(self.data) // struct.calcsize(self.dtype.letter)

    def data_ptr(self):
        return ctypes.addressof(self.data)

    def detach(self):
        return self

    cpu = contiguous = detach

def frombuffer(data, dtype):
    return Tensor(bytes(data), (len(data) // struct.calcsize(dtype.letter),), dtype)

def zeros(shape, dtype):
    count = 1
    for size in shape:
        count *= size
    return Tensor(bytes(count * struct.calcsize(dtype.letter)), shape, dtype)

def relu(x):
    layout = f"{x.numel()}{x.dtype.letter}"
    values = [v if v != v or v > 0 else 0.0 for v in struct.unpack(layout, x.data.raw)]
    return Tensor(struct.pack(layout, *values), x.shape, x.dtype)
"""


OF_STUB = """
from importlib.util import find_spec
import torch

framework = "torch"
relu = torch.relu
assert not any(map(find_spec, ("spec_tests", "reference_numpy", "numpy", "connection")))
"""


@pytest.mark.rotating
def test_a_framework_of_its_own_without_numpy(bare: Path, tmp_path: Path) -> None:
    """The environment has a stub of PyTorch, and neither NumPy nor anything else."""
    write(tmp_path, torch=STUB, mine=OF_STUB)
    run = suite(tmp_path, "--backend=mine.py", f"--python={bare}", "--effort=smoke", "-k", "relu. and not vjp")
    assert run.code == 0, run.text
    assert {"relu.reference mine float32", "relu.reference mine float64"} <= {
        name for name, status in run.statuses.items() if status == "passed"
    }


@pytest.mark.rotating
def test_its_server_is_one_of_the_protocol(tmp_path: Path) -> None:
    """Started by hand, as a server in any language is. It says that it keeps arrays, so that laws about memory are tried."""
    write(tmp_path, mine=NUMPY + "\n\ndef relu(x):\n    np.maximum(x, 0, out=x)\n    return x\n")
    place = {"folder": str(tmp_path), "file": str(tmp_path / "mine.py"), "attribute": "", "adapters": str(cs336.__file__)}
    options = json.dumps({"text": "mine.py", "name": "mine", "install": "pip install", "memory": None, **place})
    command = [sys.executable, "-u", str(SERVER), options]
    (tmp_path / "mine.json").write_text(json.dumps({"command": command, "name": "by_hand"}))
    options = ("--hypothesis-seed=1", "-k", "relu.reference or relu.inputs_unchanged")
    run = suite(tmp_path, "--backend=mine.json", *options)
    statuses = {fact["id"]: fact["status"] for fact in run.facts}
    assert statuses == {"relu.reference": "passed", "relu.inputs_unchanged": "failed"}, run.text


@pytest.mark.rotating
def test_an_older_numpy(tmp_path: Path) -> None:
    """A plain 0 would make float64 of a single float32 there, which NumPy 2 does not."""
    folder = tmp_path / "old"
    venv.create(folder, with_pip=True, symlinks=True)
    python = folder / "bin" / "python"
    done = subprocess.run([python, "-m", "pip", "install", "-q", "numpy==1.26.4"], capture_output=True, check=False, timeout=600)
    if done.returncode:
        pytest.skip("NumPy 1.26 cannot be installed here")
    relu = RELU.replace("(x, 0)", "(x, x.dtype.type(0))")
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE + relu + "\n\nassert np.__version__ == '1.26.4'\n")
    laws = "rms_norm.reference or relu.reference or relu.dtype"
    options = ("--hypothesis-seed=1", "--report=out", "-k", laws)
    run = suite(tmp_path, "--backend=mine.py", f"--python={python}", *options)
    assert run.code == 1
    assert "rms_norm/eps-outside" in run.text
    assert {fact["status"] for fact in run.facts if fact["operation"] == "relu"} == {"passed"}
    assert 'in its process \\"1.26.4\\"' in (tmp_path / "out" / "report.jsonl").read_text()


def test_an_option_of_another_project_keeps_its_conftest(tmp_path: Path) -> None:
    """A run that does not name spec_tests has its own --python, if any."""
    conftest = "def pytest_addoption(parser):\n    parser.addoption('--python')\n"
    write(
        tmp_path, conftest=conftest, test_it="def test_it(request):\n    assert request.config.getoption('--python') == 'mine'\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "spec_tests.plugin", "--python=mine", "test_it.py"],
        cwd=tmp_path, env=environment(ROOT), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


# --- what cannot be loaded --------------------------------------------------------------------------------------------

NO_DRIVER = "framework = 'numpy'\n\ndef load():\n    raise RuntimeError('Found no NVIDIA driver on your system')\n\nload()\n"
ASKS_ITS_VERSION = "from importlib.metadata import version\n\n__version__ = version('cs336_basics')\n"


@pytest.mark.rotating
def test_what_is_missing_is_named_with_the_line_to_type(bare: Path, tmp_path: Path) -> None:
    (tmp_path / "cs336_basics").mkdir()
    write(tmp_path, missing="import einops\n", cuda=NO_DRIVER, student="import cs336_basics\n", numpyless=NUMPY + RELU)
    write(tmp_path / "cs336_basics", __init__=ASKS_ITS_VERSION)
    install = f"not installed for {bare}; type {bare} -m pip install"
    expected = {
        "missing.py": f"it imports 'einops' (missing.py:1 in <module>), which is {install} einops",
        "numpyless.py": f"it imports 'numpy' (numpyless.py:1 in <module>), which is {install} numpy",
        "cuda.py": "it asks for a CUDA device while it is imported (cuda.py:4 in load), and there is none here",
        "student.py": f"in the folder of that package type {bare} -m pip install -e .",
        "absent": f"there is no module absent for {bare}",
        "absent.py": "there is no file",
        "a/kernel.onnx": "--python loads a .py file or a module, and this is neither",
    }
    found = complaints(tmp_path, *((f"--backend={name}", f"--python={bare}") for name in expected))
    for complaint, sentence in zip(found, expected.values(), strict=True):
        assert sentence in complaint


def test_what_is_missing_in_the_suite_s_own_python_is_named_too(tmp_path: Path) -> None:
    write(
        tmp_path,
        missing="import no_such_package\n",
        cuda=NO_DRIVER,
        version="from importlib import metadata\nmetadata.version('no-such')\n",
    )
    missing, cuda, version = complaints(tmp_path, "--backend=missing.py", "--backend=cuda.py", "--backend=version.py")
    assert "it imports 'no_such_package', which is not installed here (line 1 of " in missing
    assert missing.endswith("; install it first, or name the Python that has it, as in --python=.venv/bin/python")
    assert "it asks for a CUDA device while it is imported, and there is none here (RuntimeError: Found no NVIDIA driver" in cuda
    assert "it asks for the version of the package no-such, which is not installed here" in version


@pytest.mark.rotating
def test_uv_run_is_a_python(tmp_path: Path) -> None:
    """A stand-in for uv, which starts this Python."""
    write(tmp_path, mine=NUMPY + RELU, missing="import no_such_package\n")
    (tmp_path / "uv").write_text(f'#!/bin/sh\n[ "$1 $2" = "run python" ] || exit 9\nshift 2\nexec {sys.executable} "$@"\n')
    (tmp_path / "uv").chmod(0o755)
    assert suite(tmp_path, "--backend=mine.py", "--python=./uv run", "--effort=smoke", "-k", "relu.reference").code == 0
    (missing,) = complaints(tmp_path, ("--backend=missing.py", "--python=./uv run"))
    assert missing.endswith("; type uv add no_such_package")


def test_what_is_no_python_is_refused_in_a_sentence(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    (tmp_path / "old").write_text("#!/bin/sh\necho Python 2 >&2\nexit 1\n")
    (tmp_path / "old").chmod(0o755)
    absent, old = complaints(
        tmp_path, ("--backend=mine.py", "--python=.venv/bin/python"), ("--backend=mine.py", "--python=./old")
    )
    assert "there is no such program in" in absent
    assert "give the path of a Python, as in --python=.venv/bin/python" in absent
    assert "with exit status 1; it printed 'Python 2'" in old
