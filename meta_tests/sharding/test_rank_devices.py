"""Ranks that are devices of one process: what each device holds of an answer is judged, and the process knows their number."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.implementation.rank_devices import device_of, read_ranks

from ..support.pytest_process import NUMPY, suite, write

ON_DEVICES = """
import os

world_size, ranks = (3, 1), "devices"
OFFSET = np.float32(int(os.environ["WORLD_SIZE"]) - 3)


def relu(x):
    return np.maximum(x, 0) + OFFSET
"""
HEAD = """
import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

framework, dtypes, world_size, ranks = "jax", ("float32",), (2, 1), "devices"
environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
MESH = Mesh(np.array(jax.devices()[: int(os.environ["WORLD_SIZE"])]), ("ranks",))


def on_ranks(f, **options):
    return jax.shard_map(f, mesh=MESH, in_specs=PartitionSpec(), out_specs=PartitionSpec(), check_vma=False, **options)
"""
APART = """
def relu(x):  # rank 0 is right, and rank 1 adds 1, which shows in every example
    return on_ranks(lambda x: jnp.maximum(x, 0) + jax.lax.axis_index("ranks"))(x)


def relu_vjp(cotangent, x):
    return (on_ranks(lambda x: jnp.where(x > 0, cotangent, 0) + jax.lax.axis_index("ranks"))(x),)


def sigmoid(x):  # the bits differ, within the bound
    return on_ranks(lambda x: jax.nn.sigmoid(x) * (1 + jax.lax.axis_index("ranks") * jnp.finfo(x.dtype).eps))(x)
"""


def make_array(shape: tuple[int, ...], *parts: tuple[int, Any, Any]) -> Any:
    """Return what stands for an array of JAX: each part is the number of its device, its place in the array, and its values."""
    shards = [SimpleNamespace(device=SimpleNamespace(id=number), index=place, data=x) for number, place, x in parts]
    devices = {f"cpu:{number}" for number, _, _ in parts}
    whole = np.zeros(shape)
    for _, place, x in reversed(parts):
        whole[place] = x
    return SimpleNamespace(addressable_shards=shards, devices=lambda: devices, device="several", whole=whole)


FRAMEWORK: Any = SimpleNamespace(world_size=2, place="cpu:0", stored=np.asarray)
WHOLE = (slice(None),)


def test_each_rank_has_its_own_copy_of_its_part() -> None:
    same = make_array((2,), (1, WHOLE, [1, 3]), (0, WHOLE, [1, 2]))
    assert [list(x) for x in read_ranks(FRAMEWORK, same, same.whole)] == [[1, 2], [1, 3]]  # in the order of the devices
    halves = make_array((2,), (0, slice(0, 1), 5), (1, slice(1, 2), 6))
    assert [list(x) for x in read_ranks(FRAMEWORK, halves, halves.whole)] == [[5, 6], [5, 6]]
    assert read_ranks(FRAMEWORK, np.ones(2), np.ones(2)) == []


def test_an_array_on_the_devices_of_all_ranks_is_where_arrays_are_made() -> None:
    several, alone = make_array((2,), (0, WHOLE, 1), (1, WHOLE, 1)), make_array((2,), (1, WHOLE, 1))
    one_process: Any = SimpleNamespace(world_size=1, place="cpu:0", stored=np.asarray)
    assert device_of(FRAMEWORK, several) == "cpu:0"
    assert device_of(one_process, several) == "several"
    assert device_of(FRAMEWORK, alone) == device_of(one_process, alone) == "cpu:1"
    assert device_of(one_process, np.ones(2)) == "cpu"


def test_the_process_has_the_number_of_ranks_and_the_report_says_it(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + ON_DEVICES)
    run = suite(tmp_path, "--backend=mine.py", "-k", "relu.reference or relu.ranks")
    assert run.code == 0, run.text
    assert {fact["id"] for fact in run.facts} == {"relu.reference", "relu.ranks"}
    wrong = suite(tmp_path, "--backend=mine.py", "--world-size=1", "-k", "relu.reference")
    assert wrong.code == 1
    assert "on 1 rank)" in wrong.text
    assert "no script: the backend runs on ranks (1 here)" in wrong.text
    refused = suite(tmp_path, "--backend=mine.py", "--world-size=2")
    assert refused.complaint == "--backend=mine.py: --world-size=2, and its world_size is 3, 1"


def test_each_law_about_ranks_can_fail_on_devices(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    write(tmp_path, apart=HEAD + APART)
    run = suite(tmp_path, "--backend=apart.py", "-k", "relu.reference or relu.rank or relu_vjp.rank or sigmoid.rank")
    found = {fact["id"]: fact["status"] for fact in run.facts}
    assert found == {
        "relu.reference": "passed",
        "relu.ranks": "failed",
        "relu.rank_identical": "not held",
        "relu_vjp.ranks": "failed",
        "relu_vjp.rank_identical": "not held",
        "sigmoid.ranks": "passed",
        "sigmoid.rank_identical": "not held",
    }
    assert re.search(r"rank +1 of 2", run.text)
    alone = suite(tmp_path, "--backend=apart.py", "--world-size=1", "-k", "relu.reference or relu.rank")
    assert [fact["id"] for fact in alone.facts] == ["relu.reference"]
