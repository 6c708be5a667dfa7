"""The state of PyTorch in which a call is wrong, in a printed script: another default dtype, no gradients, or autocast."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from ..implementation.states import AUTOCAST, AUTOCAST_DTYPE, DEFAULT_DTYPES, INFERENCE

AROUND: Mapping[str, str] = MappingProxyType(  # what a function is wrapped in, so that its arguments are made outside
    {
        "no_grad": "torch.no_grad()",
        INFERENCE: "torch.inference_mode()",
        AUTOCAST: f"torch.autocast('DEVICE', dtype=torch.{AUTOCAST_DTYPE})",
    }
)
CALL = re.compile(r"^(print\()(backend\.[\w.]+)\(", re.MULTILINE)
LOADS = re.compile(r"^backend = .*$", re.MULTILINE)


def add_state(script: str, state: str, device: str) -> str:
    """Return the script with each call in the state, or as it is if it has none or if its calls are of another form."""
    if not state or not LOADS.search(script) or not CALL.search(script):
        return script
    lines = [line for line in script.splitlines() if not line.startswith("# each call is right by itself")]
    own = "\n".join([f"# what is wrong shows with {state} alone", *lines])
    if state in DEFAULT_DTYPES:
        statement = f"torch.set_default_dtype(torch.{DEFAULT_DTYPES[state]})"
        return LOADS.sub(lambda found: "\n".join([found[0], statement]), own, count=1)
    around = _write_context(state, device)
    return CALL.sub(lambda found: f"{found[1]}{around}({found[2]})(", own)


def place_around(line: str, state: str, device: str) -> list[str]:
    """Return the lines that do what the line does in the state."""
    if state in DEFAULT_DTYPES:
        usual, own = "torch.set_default_dtype(torch.float32)", f"torch.set_default_dtype(torch.{DEFAULT_DTYPES[state]})"
        return [own, line, usual]
    return [f"with {_write_context(state, device)}: {line}"] if state else [line]


def _write_context(state: str, device: str) -> str:
    return AROUND[state].replace("DEVICE", "cuda" if device.startswith("cuda") else "cpu")
