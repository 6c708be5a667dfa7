"""What a device is, and which settings of its framework decide how precisely it computes: facts that a verdict rests on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

from .printable import printable_line

NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")
_DRIVER_VERSION = re.compile(r"Kernel Module\s+(?:for \S+\s+)?([\d.]+)\s")


class DeviceUser(Protocol):
    """What these functions need of a framework."""

    name: str
    place: str
    module: Any


def list_device_facts(framework: DeviceUser) -> tuple[str, ...]:
    """Return the facts, such as "NVIDIA H100", "driver 550.54.15", "TF32 off"; none for a backend on the processor.

    What a framework cannot say is left out.
    """
    kind, number = framework.place.partition(":")[0], re.search(r"\d+", framework.place)
    find = _FACTS.get(framework.name)
    if kind == "cpu" or find is None:
        return ()
    facts = find(framework.module, kind, int(number[0]) if number else 0)
    return tuple(dict.fromkeys(printable_line(fact) for fact in facts))


def _list_torch_facts(torch: Any, kind: str, number: int) -> Iterator[str]:
    module: Any = getattr(torch, kind, None)
    yield from _say(lambda: module.get_device_name(f"{kind}:{number}"))
    if kind == "cuda":
        yield from _list_nvidia_facts()
        yield from _say(lambda: f"CUDA {torch.version.cuda}" if torch.version.cuda else f"ROCm {torch.version.hip}")
        products = torch.backends.cuda.matmul  # "reduced": partial sums of 16-bit products are added in 16 bits
        yield from _say(lambda: f"TF32 {_switch(products.allow_tf32)}")
        yield from _say(lambda: f"reduced sums of bfloat16 {_switch(products.allow_bf16_reduced_precision_reduction)}")
        yield from _say(lambda: f"reduced sums of float16 {_switch(products.allow_fp16_reduced_precision_reduction)}")
        yield from _say(lambda: f"float16 accumulation {_switch(products.allow_fp16_accumulation)}")
    yield from _say(lambda: f"deterministic algorithms {_switch(torch.are_deterministic_algorithms_enabled())}")
    yield from _say(lambda: f"triton {metadata.version('triton')}")


def _list_jax_facts(jax: Any, kind: str, number: int) -> Iterator[str]:
    yield from _say(lambda: jax.devices(kind)[number].device_kind)
    if kind in ("cuda", "gpu"):
        yield from _list_nvidia_facts()
    yield from _say(lambda: " ".join(jax.devices(kind)[number].client.platform_version.split()))
    yield from _say(lambda: f"products of precision {jax.config.jax_default_matmul_precision or 'default'}")


def _list_cupy_facts(cupy: Any, kind: str, number: int) -> Iterator[str]:
    runtime = cupy.cuda.runtime
    yield from _say(lambda: runtime.getDeviceProperties(number)["name"].decode())
    yield from _list_nvidia_facts()
    yield from _say(lambda: "CUDA {}.{}".format(*divmod(runtime.runtimeGetVersion() // 10, 100)))


def _list_nvidia_facts() -> Iterator[str]:
    yield from _say(lambda: f"driver {read_driver_version(NVIDIA_DRIVER.read_text())}")


def read_driver_version(text: str) -> str:
    """Return the version of NVIDIA's driver that its file in /proc states. Raise ValueError if it states none."""
    if not (found := _DRIVER_VERSION.search(text)):
        raise ValueError("no version of a kernel module")
    return found[1]


def _say(fact: Callable[[], str]) -> list[str]:
    """Return the fact in a list, and an empty list if what it asks for is not there."""
    try:
        return [fact()]
    except Exception:  # each framework, and each of its versions, has its own way to lack it
        return []


def _switch(on: object) -> str:
    return "on" if on else "off"


_FACTS: dict[str, Callable[[Any, str, int], Iterator[str]]] = {
    "torch": _list_torch_facts,
    "jax": _list_jax_facts,
    "cupy": _list_cupy_facts,
}
