"""Ranks in one process (PyTorch's LocalTensorMode): it answers as processes over gloo do, and what it finds they confirm."""

import json
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference_numpy.linear import linear
from spec_tests.implementation.backend import Backend
from spec_tests.implementation.guard import Fault
from spec_tests.sharding.sharded_backend import load_sharded
from spec_tests.sharding.shards import Cut
from spec_tests.specification.registry import operations

from ..support.local_ranks import OPTIONS, WORLD_SIZE, draw
from ..support.paths import ROOT
from ..support.pytest_process import environment, python
from ..support.sharded_variant import FIRST
from ..support.sharded_variants import VARIANTS

TORCH = find_spec("torch")
MODE = Path(TORCH.origin or "").parent / "distributed" / "_local_tensor" if TORCH else None
pytestmark = pytest.mark.skipif(MODE is None or not MODE.exists(), reason="this version of PyTorch has no LocalTensorMode")

ALIKE = ("linear", "swiglu", "rms_norm", "layer_norm", "log_softmax", "logsumexp")  # whose ranks run the same code
FAULTS = {  # of linear, and which answers are then wrong
    "every rank adds the bias": {"result"},
    "every rank adds its share of the bias, whose gradient is then 1/n": {"bias"},
}


def simulate(folder: Path, *operations: str) -> dict[str, Any]:
    """Call operations of the files in folder/backends on ranks in one process."""
    done = python(folder, "-m", "meta_tests.support.local_ranks", str(folder), *operations, env=environment(ROOT))
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def call_over_gloo(backend: Backend, operation: str) -> np.ndarray:
    """Return the joined result of the same call on as many processes."""
    framework = backend.framework
    arrays = [framework.native(x, "float64") for x in draw(operation).values()]
    answer = framework.run_guarded(lambda: backend.function(operation)(*arrays, **OPTIONS.get(operation, {})), 60.0)
    return framework.numpy(answer)


@pytest.fixture(scope="module")
def right() -> Iterator[Backend]:
    loaded = load_sharded(FIRST.replace("_", "-"), ROOT, operations(), (), WORLD_SIZE)
    yield loaded
    loaded.framework.connection.discard_process(Fault(""))


@pytest.mark.rotating
def test_ranks_in_one_process_give_the_bits_of_processes(right: Backend, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "backends", tmp_path / "backends")
    found = simulate(tmp_path, *ALIKE)
    for operation in ALIKE:
        assert isinstance(found[operation], dict), found[operation]
        parts = list(map(np.array, found[operation]["result"]))
        cut = right.shards.of_result(operation)
        joined = cut.join(parts) if cut else parts[0]
        np.testing.assert_array_equal(joined, call_over_gloo(right, operation))
        assert cut or np.array_equal(parts[0], parts[1])


def true_answers() -> dict[str, np.ndarray]:
    """Return the result of linear and its gradients for a cotangent of ones. All numbers are whole, so that no order counts."""
    x, weight, bias = draw("linear").values()
    ones = np.ones((len(x), len(weight)))
    return {"result": linear(x, weight, bias), "x": ones @ weight, "weight": ones.T @ x, "bias": ones.sum(0)}


@pytest.mark.rotating
@pytest.mark.parametrize("name", [None, *FAULTS])
def test_a_fault_is_found_in_one_process_and_confirmed_over_gloo(name: str | None, tmp_path: Path) -> None:
    folder = tmp_path / "backends"
    folder.mkdir()
    (variant,) = (v for v in VARIANTS if (v.operation, v.name) == ("linear", name or next(iter(FAULTS))))
    variant.write(folder)
    if name is None:
        shutil.copy(ROOT / "backends" / variant.file, folder)
    found, cuts = simulate(tmp_path, "linear")["linear"], {"x": Cut(-1), "weight": Cut(1)}
    parts = {key: list(map(np.array, values)) for key, values in found.items()}
    answers = {key: cuts[key].join(values) if key in cuts else values[0] for key, values in parts.items()}
    wrong = {key for key, truth in true_answers().items() if not np.array_equal(answers[key], truth)}
    assert wrong == (FAULTS[name] if name else set())
    backend = load_sharded(str(folder / f"{FIRST}.py"), folder, operations(), (), WORLD_SIZE)
    try:
        np.testing.assert_array_equal(call_over_gloo(backend, "linear"), answers["result"])
    finally:
        backend.framework.connection.discard_process(Fault(""))


@pytest.mark.rotating
def test_code_that_asks_for_its_place_is_not_simulated(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "backends", tmp_path / "backends")
    answers = simulate(tmp_path, "scaled_dot_product_attention", "linear")
    assert "LocalIntNode" in answers["scaled_dot_product_attention"]  # the length of all shards, as an int
    assert isinstance(answers["linear"], dict)
