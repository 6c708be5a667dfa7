"""Runs on JAX with several devices of the CPU: arrays are made on the second one, and what leaves it is one verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..support.paths import ROOT
from ..support.pytest_process import Run, environment, suite, write

pytest.importorskip("jax")

HEAD = """
import jax
import jax.numpy as jnp

framework, device, dtypes = "jax", "cpu:1", ("float32",)
environment = {"XLA_FLAGS": "--xla_force_host_platform_device_count=3", "JAX_PLATFORMS": "cpu"}
"""
RIGHT = """
from backends.jax_cpu import softmax, swiglu

ONE = jnp.ones(())  # committed to no device: it goes with any array


def relu(x):
    return jnp.maximum(x * ONE, 0)
"""
WRONG = """
from jax.sharding import Mesh, NamedSharding, PartitionSpec

FIRST, THIRD = jax.devices()[0], jax.devices()[2]
ONE = jax.device_put(1.0, FIRST)


def relu(x):  # the result is on another device
    return jax.device_put(jnp.maximum(x, 0), THIRD)


def silu(x):  # a table that was made on the first device
    return jax.nn.silu(x) * ONE


def sigmoid(x):  # the result is spread over all devices
    return jax.device_put(jax.nn.sigmoid(x), NamedSharding(Mesh(jax.devices(), ("all",)), PartitionSpec()))


def softmax(x, *, axis):
    return jax.nn.softmax(x, axis=axis)
"""
SAYS = {
    "relu": "the result is on cpu:2",
    "silu": "the call raised ValueError: Received incompatible devices for jitted computation",
    "sigmoid": "the result is on NamedSharding(",
}


def run(folder: Path, *args: str) -> Run:
    return suite(folder, "--hypothesis-seed=1", *args, env=environment(ROOT))


@pytest.mark.parametrize("options", [(), ("--isolate",)], ids=" ".join)
def test_right_ones_conform_on_the_second_device(options: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, mine=HEAD + RIGHT)
    laws = "test_every and test_reference and ([relu or [softmax or [swiglu)"
    done = run(tmp_path, "--backend=mine.py", "-k", laws, *options)
    assert done.code == 0, done.text
    assert {fact["device"] for fact in done.facts} == {"cpu:1"}
    assert done.count("passed") == 6  # three operations and their gradients


@pytest.mark.parametrize("options", [(), ("--isolate",)], ids=" ".join)
def test_what_leaves_the_device_is_one_verdict(options: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, mine=HEAD + WRONG)
    laws = " or ".join(f"[{name}-" for name in (*SAYS, "softmax"))
    done = run(tmp_path, "--backend=mine.py", "-k", f"test_every_operation.py and reference and ({laws})", *options)
    found = {fact["id"].partition(".")[0]: (fact["status"], fact["reason"]) for fact in done.facts}
    assert found.pop("softmax")[0] == "passed"
    assert found.keys() == SAYS.keys()
    for name, (status, reason) in found.items():
        assert status == "failed"
        assert SAYS[name] in reason
