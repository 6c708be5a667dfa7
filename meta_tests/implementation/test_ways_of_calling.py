"""Functions that are called from another thread, compiled, or under transforms, with arrays anywhere in memory."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.implementation.framework import Framework
from spec_tests.implementation.layouts import MEMORIES, MISALIGNED, SWAPPED
from spec_tests.implementation.ways_of_calling import COMPILED, OTHER_THREAD, TANGENT, VMAP, WAYS, has_transforms
from spec_tests.processes.isolated_backend import load_isolated
from spec_tests.specification.registry import gradients, operations

from ..support.pytest_process import suite, write

SELECTION = ("--backend=mine.py", "--effort=thorough", "-k", "relu and (other_threads or any_memory or transforms or compiled)")
BEGINNING = """
import threading
import torch
framework, dtypes = "torch", ("float32",)
"""
LEVELS = ("other_threads", "any_memory", "transforms", "compiled")

RIGHT = {
    "by_torch": "def relu(x):\n    return torch.relu(x)\n",
    "by_choice": "def relu(x):\n    return torch.where(x > 0, x, torch.zeros_like(x))\n",
    "by_a_module": "MODULE = torch.nn.ReLU()\n\ndef relu(x):\n    return MODULE(x)\n",
    "compiled_already": "relu = torch.compile(torch.relu, backend='eager')\n",
    "in_place": "def relu(x):\n    return x.clone().relu_()\n",
}
WRONG = {
    "other_threads": "def relu(x):\n    alone = threading.current_thread() is not threading.main_thread()\n"
    "    return -x * x if alone else torch.relu(x)\n",
    "any_memory": "def relu(x):\n    return torch.relu(x if x.storage_offset() % 4 == 0 else x + 1)\n",
    "transforms": "def relu(x):\n    return -x * x if torch._C._functorch.is_batchedtensor(x) else torch.relu(x)\n",
    "compiled": "def relu(x):\n    return -x * x if torch.compiler.is_compiling() else torch.relu(x)\n",
}


def find_statuses(folder: Path, body: str) -> dict[str, str]:
    """Return the status of each law about the surroundings of relu."""
    write(folder, mine=BEGINNING + body)
    run = suite(folder, *SELECTION)
    assert run.code == 0, run.text
    found = {name.split()[0].removeprefix("relu."): status for name, status in run.statuses.items() if name.startswith("relu.")}
    assert set(found) == {*LEVELS}, run.text
    return found


@pytest.mark.rotating
@pytest.mark.parametrize("form", RIGHT)
def test_right_functions_hold_all_levels(form: str, tmp_path: Path) -> None:
    assert set(find_statuses(tmp_path, RIGHT[form]).values()) == {"passed"}


@pytest.mark.rotating
@pytest.mark.parametrize("law", LEVELS)
def test_what_is_wrong_in_one_way_alone_is_seen_there_alone(law: str, tmp_path: Path) -> None:
    assert find_statuses(tmp_path, WRONG[law]) == {name: "not held" if name == law else "passed" for name in LEVELS}


@pytest.mark.parametrize(("law", "way"), [("other_threads", OTHER_THREAD), ("transforms", VMAP), ("compiled", COMPILED)])
def test_the_process_of_a_backend_calls_in_each_way(law: str, way: str, tmp_path: Path) -> None:
    write(tmp_path, mine=BEGINNING + WRONG[law])
    isolated = load_isolated("mine.py", tmp_path, operations(), gradients())
    x, function = isolated.framework.native(np.array([-1.0]), "float32"), isolated.function("relu")

    def answer(state: str) -> Any:
        y = isolated.framework.in_state(state, lambda: isolated.run_guarded(lambda: function(x), "relu"))
        return isolated.framework.numpy(y).item()

    assert (answer(""), answer(way)) == (0.0, -1.0)


# --- each way by itself ----------------------------------------------------------------------------------------------


def call(framework: Framework, state: str, function: Any, *arrays: Any, **keywords: Any) -> Any:
    return framework.in_state(state, lambda: framework.call(function, arrays, keywords)) if state else function(*arrays)


def test_another_thread_answers_and_raises() -> None:
    numpy = Framework("numpy")
    assert call(numpy, "", lambda: threading.current_thread()) is threading.main_thread()
    assert call(numpy, OTHER_THREAD, lambda: threading.current_thread()) is not threading.main_thread()
    assert call(numpy, OTHER_THREAD, lambda x, *, y: x - y, 3, y=1) == 2
    with pytest.raises(KeyError):
        call(numpy, OTHER_THREAD, {}.__getitem__, "nothing")
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        call(numpy, OTHER_THREAD, np.log, np.zeros(1))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # which PyTorch itself calls
def test_the_arguments_of_transforms() -> None:
    """Under vmap the other entry has other numbers, and a list or keyword with arrays keeps its form."""
    torch = Framework("torch")
    x, seen = torch.native(np.arange(3.0), "float32"), []

    def function(pair: Any, *, mask: Any) -> Any:
        seen.append((type(pair), pair[1]))
        return torch.module.where(mask, pair[0], 0) * 2

    found = call(torch, VMAP, function, [x, 5], mask=torch.native(np.array([True, True, False]), "bool"))
    assert np.array_equal(torch.numpy(found), [0.0, 2.0, 0.0])
    assert seen == [(list, 5)]
    assert np.array_equal(torch.numpy(call(torch, TANGENT, lambda x: x * x, x)), 2 * np.arange(3.0) * np.roll(np.arange(3.0), 1))
    with pytest.raises(RuntimeError, match="vmap"):
        call(torch, VMAP, lambda x: x.sum().item(), x)


def test_which_frameworks_have_transforms() -> None:
    assert has_transforms(Framework("torch").module)
    assert not has_transforms(np)
    assert not has_transforms(SimpleNamespace(func=SimpleNamespace(vmap=len, jvp=len), compile=len, compiler=None))
    assert {OTHER_THREAD, VMAP, TANGENT} < {*WAYS}


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16", "int64", "bool"])
@pytest.mark.parametrize("shape", [(), (0, 2), (1,), (2, 3)])
def test_arrays_anywhere_in_memory_have_the_same_values(dtype: str, shape: tuple[int, ...]) -> None:
    values = np.resize(np.arange(5) % 2 if dtype == "bool" else np.arange(5), shape).astype("f8" if "f" in dtype else dtype)
    for name in ("numpy", "torch"):
        framework = Framework(name)
        for memory in (memory for memory, names in MEMORIES.items() if name in names):
            x = framework.lay_out(values, dtype, memory)
            assert np.array_equal(framework.numpy(x), values)
            assert framework.dtype_of(x) == dtype


def test_where_misaligned_and_swapped_arrays_lie() -> None:
    numpy, torch, values = Framework("numpy"), Framework("torch"), np.arange(6.0).reshape(2, 3)
    moved = numpy.lay_out(values, "float32", MISALIGNED)
    assert (moved.flags.aligned, moved.flags.c_contiguous, moved.flags.writeable) == (False, True, True)
    assert not numpy.lay_out(values, "float32", SWAPPED).dtype.isnative
    tensor = torch.lay_out(values, "float32", MISALIGNED)
    assert (tensor.data_ptr() % 8, tensor.is_contiguous()) == (4, True)
