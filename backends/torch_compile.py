"""The plain PyTorch of torch_cpu, each operation compiled as a whole by torch.compile, for any shape."""

import inspect

import torch

from . import torch_cpu
from .torch_cpu import *

OPERATIONS = {name: f for name, f in inspect.getmembers(torch_cpu, inspect.isfunction) if not name.startswith("_")}
globals().update({name: torch.compile(f, dynamic=True, fullgraph=True) for name, f in OPERATIONS.items()})
